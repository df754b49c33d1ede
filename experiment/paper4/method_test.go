package paper4

import (
	"math"
	"testing"

	"choir/pvi"
	"choir/pvi/gauss"
)

// TestRecent: what is predicted from is the mean of the last natural parameters: of
// three posteriors with two to average, those of the last two.
func TestRecent(t *testing.T) {
	l := pvi.Likelihood{Model: pvi.Logistic, Family: gauss.MeanField, Features: 1}
	r, none := recent{most: 2}, recent{}
	for i, natural := range [][]float64{{8, -4}, {1, -1}, {3, -2}} {
		p, err := l.Posterior(natural)
		if err != nil {
			t.Fatal(err)
		}
		same, err := none.add(p)
		if err != nil || same != p {
			t.Errorf("without averaging: %v, %v", same, err)
		}
		mean, err := r.add(p)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]float64{{8, -4}, {4.5, -2.5}, {2, -1.5}}[i]
		if got := mean.Natural(); math.Abs(got[0]-want[0]) > 1e-12 || math.Abs(got[1]-want[1]) > 1e-12 {
			t.Errorf("after %d: %v, want %v", i+1, got, want)
		}
	}
}
