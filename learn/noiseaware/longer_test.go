package noiseaware

import (
	"math"
	"testing"

	"choir/learn/gauss"
)

// TestLongerPrior: of weights of which normal estimates are known the share of the longer prior is that of
// the exact ratio of their densities, but for a twentieth of its logarithm, and weights that the prior draws
// stay as they are.
func TestLongerPrior(t *testing.T) {
	for _, tc := range []struct {
		name     string
		estimate []float64
		variance float64
		longer   float64 // least share of the longer prior
		shorter  float64 // largest
	}{
		{"long and known", []float64{3, -2.5, 2, 2, -3, 1}, 0.001, 0.99, 1},
		{"long, with noise", []float64{4, -2.5, 2, 3, -3, 1}, 0.8, 0.3, 0.999},
		{"as drawn", []float64{1.2, -1, 0.5, 1.3, -0.4, 0.9}, 0.01, 0, 0},
		{"nothing known", []float64{300, -200, 100, 200, -100, 100}, 1e6, 0, 0},
	} {
		const prior = 2.0
		mean := func(p float64) (*gauss.Moments, float64) {
			m, log := &gauss.Moments{}, 0.0
			for _, w := range tc.estimate {
				w /= math.Sqrt(prior)
				v := tc.variance / prior
				m.Mean = append(m.Mean, w/(1+p*v))
				m.Variance = append(m.Variance, v/(1+p*v))
				log -= (math.Log(v+1/p) + w*w/(v+1/p)) / 2
			}
			return m, log
		}
		asked := 0
		under := func(p float64) (Weights, bool) {
			m, _ := mean(p)
			asked++
			return Weights{m, m}, true
		}
		own, short := mean(prior)
		far, long := mean(prior * LongerPrior)
		got := Longer(prior, Weights{own, own}, under)
		share := (got.Mean[0] - own.Mean[0]) / (far.Mean[0] - own.Mean[0])
		odds := math.Log(share / (1 - share) / LongerOdds)
		if tc.shorter == 0 {
			if asked > 0 || got != own {
				t.Errorf("%s: the longer prior was tried, share %.3f", tc.name, share)
			}
			continue
		}
		if share < tc.longer || share > tc.shorter || share < 0.999 && math.Abs(odds/(long-short)-1) > 0.05 {
			t.Errorf("%s: share %.4f, of a ratio with the logarithm %.3f for %.3f", tc.name, share, odds, long-short)
		}
	}
}

// TestLongerPriorWithoutLaw: where sums have no law under the longer prior weights stay as they are.
func TestLongerPriorWithoutLaw(t *testing.T) {
	own := &gauss.Moments{Mean: []float64{5, 5}, Variance: []float64{0.1, 0.1}}
	none := func(float64) (Weights, bool) { return Weights{}, false }
	if got := Longer(1, Weights{own, own}, none); got != own {
		t.Errorf("weights became %v", got.Mean)
	}
}
