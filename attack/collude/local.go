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

// shows reports whether the victim's last step of a round shows the earlier ones to a coalition that sees
// sums alone. Under local noise a step's gradient may depend in any way on the noised steps before it, within
// the clip of each of the victim's records, whose number nothing bounds. So the claim counts the victim's own
// noise, and its worst case is a last step that repeats the steps before, louder than other parties' noise.
func (t Target) shows(c Coalition) bool {
	return t.Noise == protocol.NoiseLocal && t.Steps > 1 && c.Nodes < t.Nodes
}

// shown returns the sums of the session for a coalition: where the last step shows the others, the record is
// in those, and the gain is the factor by which the last step repeats them.
func (s sums) shown(c Coalition, coordinates int) sums {
	s.gain = 1
	if !s.t.shows(c) {
		return s
	}
	s.t.Steps--
	loudest := 8 * math.Sqrt(float64(s.t.Variance)*float64(s.t.Steps)*float64(coordinates))
	most := math.Floor(beyondAll / 8 / (loudest + 1))
	s.gain = int64(max(1, min(16*math.Ceil(math.Sqrt(float64(s.t.Parties))), most)))
	s.quiet = true
	return s
}

// session names the session of such sums.
func (s sums) session(name string) string {
	if s.quiet {
		return name + ", shown by the last step"
	}
	return name
}

// noised adds the noise that a party adds itself under NoiseLocal, step by step.
func (s sums) noised(party int, x []int64) []int64 {
	x = s.t.withLocal(x)
	if !s.quiet {
		return x
	}
	last := s.t
	last.Steps = 1
	for j := range x {
		if party == 0 {
			x[j] *= s.gain
		}
	}
	return last.withLocal(x)
}

// rest is the residual of a round in the unit of the steps that have the record.
func (s sums) rest(v *View, round int) ([]float64, bool) {
	x, ok := v.Residual(round)
	rest := make([]float64, len(x))
	for j := range x {
		rest[j] = float64(x[j]) / float64(max(1, s.gain))
	}
	return rest, ok
}
