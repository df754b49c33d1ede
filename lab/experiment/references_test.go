package experiment

import (
	"testing"

	"choir/privacy"
	"choir/protocol"
)

// TestFullNoiseBeyondOneDraw: noise that a single draw of the sampler cannot have is the sum of several, and
// keeps the budget.
func TestFullNoiseBeyondOneDraw(t *testing.T) {
	for _, c := range []struct {
		sensitivity uint64
		several     bool
	}{{1 << 20, false}, {1 << 27, true}} {
		p := &protocol.Plan{Epsilon: 0.5, Delta: 1e-5, Sensitivity: c.sensitivity, Dim: 4, Rounds: 200,
			Relation: uint8(privacy.ReplaceOne)}
		full, variance, err := reference{plan: p}.fullNoise()
		if err != nil {
			t.Fatal(err)
		}
		if several := full.draws > 1; several != c.several {
			t.Errorf("sensitivity %d: %d draws", c.sensitivity, full.draws)
		}
		// A Gaussian at (0.5, 1e-5) has 7.03 sensitivities a release, by the analytic mechanism [BW18].
		want := 7.03 * 7.03 * 200 * float64(c.sensitivity) * float64(c.sensitivity)
		if variance < 0.99*want || variance > 1.02*want {
			t.Errorf("sensitivity %d: variance %g, want %g", c.sensitivity, variance, want)
		}
	}
}
