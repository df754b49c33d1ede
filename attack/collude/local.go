package collude

import (
	"crypto/rand"
	"math"

	"choir/crypto/noise"
	"choir/protocol"
)

// withLocal adds the noise that a party adds itself under NoiseLocal.
func (t Target) withLocal(x []int64) []int64 {
	if t.Noise != protocol.NoiseLocal {
		return x
	}
	z, g := make([]int64, len(x)), t.stepNoise()
	if g == nil || g.Fill(z, rand.Reader) != nil {
		return nil // refused as an update of a wrong length
	}
	for j := range x {
		x[j] += z[j]
	}
	return x
}

// stepNoise is the noise of all steps of a contribution at once, which is closer to a Gaussian than
// a measurement can tell. It is nil beyond the sampler's range.
func (t Target) stepNoise() *noise.Gaussian {
	g, err := noise.NewGaussian(t.Variance * uint64(t.Steps))
	if err != nil || t.Variance > math.MaxUint64/uint64(t.Steps) {
		return nil
	}
	return g
}

// other is what an honest party but the victim sends in an attack on sums. Where parties' data are exposed,
// the number of a party's records, and so the norm of its update, has no bound: the others have so many that
// the bound on what a party sends (update_clip) leaves nothing of their noise.
func (t Target) other(party, dim int) []int64 {
	if t.Exposed {
		return others(party, dim)
	}
	return t.withLocal(others(party, dim))
}
