package bench

import (
	"crypto/rand"

	"choir/crypto/channel"
)

// kemShare is the inverse of the share of each batch's channels that are set up alone as well, and kemLeast
// the least number of them: the processor's speed varies within a run, so what a channel costs alone is
// measured all along.
const (
	kemShare = 8
	kemLeast = 64
)

// kemMeter is the cost of setting up channels' secrets at both ends, and nothing else of the set-up: an HPKE
// encapsulation and the decapsulation.
type kemMeter struct {
	key    *channel.PrivateKey
	public []byte
	cpu    float64 // seconds of processor time
	n      int     // channels
}

func newKEMMeter(suite channel.Suite) (*kemMeter, error) {
	key, err := channel.GenerateKey(suite, rand.Reader)
	if err != nil {
		return nil, err
	}
	return &kemMeter{key: key, public: key.Public()}, nil
}

// measure sets up channels on all workers at once, as many as goes with a batch of parties.
func (k *kemMeter) measure(cfg Config, parties int) error {
	info := make([]byte, 32)
	channels := max(1, max(kemLeast, parties*(cfg.Computes+1)/kemShare)/cfg.Workers)
	c, err := Measure(func() error {
		return parallel(cfg.Workers, cfg.Workers, func(int) error {
			for range channels {
				enc, _, err := channel.Initiate(cfg.Suite, k.public, info)
				if err != nil {
					return err
				}
				if _, err := channel.Accept(k.key, enc, info); err != nil {
					return err
				}
			}
			return nil
		})
	})
	k.cpu += c.CPUSeconds
	k.n += cfg.Workers * channels
	return err
}

// setUp sets what the set-up takes apart from its channels' encapsulations and decapsulations alone.
func (r *Result) setUp(m *meter, k *kemMeter) {
	r.Limits.KEM = k.cpu / float64(k.n)
	r.SecondsSetup, r.CPUSetup = m.seconds(func(p *Phase) bool {
		return p.Phase == "keys" || p.Phase == "channels"
	})
	channels := r.Parties*(r.Computes+1) + r.Computes
	r.LimitSetup = float64(channels) * r.Limits.KEM
	r.SetupRatio = r.CPUSetup / r.LimitSetup
}
