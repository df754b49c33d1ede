package stats

import (
	"math"
	mathrand "math/rand/v2"
	"testing"
)

// TestMomentError: the measured mean square of the column that is bounded most widely varies with the noise
// as MomentError says. The standard error of a standard deviation of 1,000 draws is 2.3 %.
func TestMomentError(t *testing.T) {
	const draws = 1000
	cfg := small()
	cfg.MomentRounds, cfg.FracBits, cfg.Records = 2, 8, 5000
	cfg.Bounds, cfg.TargetBound = []float64{4, 1}, 2
	sd := 2e-4 * float64(cfg.sensitivity()) * float64(cfg.Records)
	rng := mathrand.New(seeded(6))
	sum, square := 0.0, 0.0
	for range draws {
		raw := cfg.Initial()
		for round := 1; round <= cfg.MomentRounds; round++ {
			moments := make([]int64, cfg.Dim())
			moments[1] = cfg.Records * cfg.momentScale() << (2 * momentBits) / 16 // of length 1
			moments[1] += int64(sd * rng.NormFloat64())
			var err error
			if raw, err = cfg.Fold(round, raw, moments); err != nil {
				t.Fatal(err)
			}
		}
		s, err := cfg.open(raw)
		if err != nil {
			t.Fatal(err)
		}
		unit := cfg.scales(s, 0)[0].unit
		sum += unit * unit / draws
		square += math.Pow(unit, 4) / draws
	}
	got, want := math.Sqrt(square-sum*sum), cfg.MomentError(sd*sd)
	if !(math.Abs(got/want-1) < 0.1) || !(want > 0.001) {
		t.Errorf("the mean square has the standard error %v, want %v", got, want)
	}
}
