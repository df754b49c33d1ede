package calibration

import (
	"testing"

	"choir/lab/study"
)

// TestManyCorrelatedColumns: at the dataset level 90 % intervals of 60 columns correlated by .8 cover, also
// of five records a party. In these sessions they covered .78 and .76 where each weight was by itself, and
// predictions had log-likelihoods of -.573 and -.894.
func TestManyCorrelatedColumns(t *testing.T) {
	for _, tc := range []struct {
		world world
		least float64 // log-likelihood
	}{
		{world{Rows: 500, Columns: 60, Correlation: 0.8, Parties: 100, Epsilon: 8}, -0.555},
		{world{Rows: 5000, Columns: 60, Correlation: 0.8, Parties: 100, Epsilon: 8, Linear: true}, -0.885},
	} {
		tl := &tally{world: tc.world, all: map[string][]study.Score{}}
		cover, ll := 0.0, 0.0
		for seed := range uint64(3) {
			o := study.Options{Only: []string{"dataset"}}
			if err := tl.draw(t.Context(), o, 81+seed, world.load); err != nil {
				t.Fatal(err)
			}
			s := tl.all["dataset, noise-aware"][seed]
			cover += s.Coverage[1] / 3
			ll += s.LogLikelihood / 3
		}
		t.Logf("cover %.3f, log-likelihood %.4f", cover, ll)
		if cover < 0.85 || ll < tc.least {
			t.Errorf("%s: cover %.3f, log-likelihood %.4f", tc.world.describe(), cover, ll)
		}
	}
}
