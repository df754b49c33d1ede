package calibration

import (
	"testing"

	"choir/lab/study"
)

// TestResidualsOfParties: at the dataset level predictions of linear regression have the measured variance of
// an observation, .25, and not the plan's, .5, which alone has a log-likelihood of -.82.
func TestResidualsOfParties(t *testing.T) {
	w := world{Rows: 5000, Columns: 10, Correlation: 0.5, Parties: 50, Epsilon: 8, Linear: true}
	tl := &tally{world: w, all: map[string][]study.Score{}}
	ll := 0.0
	for seed := range uint64(4) {
		if err := tl.draw(t.Context(), study.Options{Only: []string{"dataset"}}, 41+seed, world.load); err != nil {
			t.Fatal(err)
		}
		ll += tl.all["dataset, noise-aware"][seed].LogLikelihood / 4
	}
	t.Logf("log-likelihood %.4f", ll)
	if ll < -0.8 {
		t.Errorf("%s: log-likelihood %.4f", w.describe(), ll)
	}
}
