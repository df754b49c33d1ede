package bench

import (
	"crypto/rand"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// AddPath is the cost of adding vectors whose keys a compute node has: derive the keystream's
// key, expand, add, for some parties in one call as in compute.Node. The phase "add" includes
// the bookkeeping of manifests as well.
type AddPath struct {
	Contributions int       `json:"contributions"`
	CPUSeconds    float64   `json:"cpu_seconds"` // for one contribution, the fastest turn
	LimitRatio    float64   `json:"limit_ratio"` // the median of the turns
	All           []float64 `json:"all"`
}

// together and enough bound how many vectors are added in one call, and of how many
// elements, as in compute.Node.
const (
	together = 64
	enough   = 1 << 20
)

// turns is how often the add path and the limit alternate.
const turns = 5

// measureAddPath alternates with the limit, so that other load on the machine affects both
// alike, and returns the median of the turns' ratios and the fastest limits.
func measureAddPath(cfg Config, s protocol.BoundPlan) (a AddPath, l Limits, err error) {
	a.Contributions = min(512, max(4, (64<<20)/(8*cfg.elements())))
	secrets := make([]*channel.Secret, a.Contributions)
	for i := range secrets {
		b := make([]byte, channel.SecretSize)
		if _, err := rand.Read(b); err != nil {
			return a, l, err
		}
		if secrets[i], err = channel.NewSecret(b); err != nil {
			return a, l, err
		}
	}
	acc := make(field.Vector, cfg.elements())
	for range turns {
		now, err := measureLimits(cfg)
		if err != nil {
			return a, l, err
		}
		l = Limits{KeystreamAdd: max(l.KeystreamAdd, now.KeystreamAdd), GCM: max(l.GCM, now.GCM), Cores: now.Cores}
		c, err := Measure(func() error { return addAll(s, acc, secrets) })
		if err != nil {
			return a, l, err
		}
		each := c.CPUSeconds / float64(len(secrets))
		a.All = append(a.All, float64(8*cfg.elements())/now.KeystreamAdd/each)
		if a.CPUSeconds == 0 || each < a.CPUSeconds {
			a.CPUSeconds = each
		}
	}
	a.LimitRatio = medianOf(a.All)
	return a, l, nil
}

func addAll(s protocol.BoundPlan, acc field.Vector, secrets []*channel.Secret) error {
	var pending []*xof.Stream
	var adder share.Adder
	for i, secret := range secrets {
		mask, err := s.Mask(secret, protocol.Context{From: uint32(i), To: 1, Round: 1, Attempt: 1,
			Purpose: protocol.PurposeShare})
		if err != nil {
			return err
		}
		if pending = append(pending, mask); len(pending) == together || len(pending)*len(acc) >= enough ||
			i == len(secrets)-1 {
			adder.Add(acc, pending...)
			pending = pending[:0]
		}
	}
	return nil
}
