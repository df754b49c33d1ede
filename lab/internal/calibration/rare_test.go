package calibration

import (
	"testing"

	"choir/lab/study"
)

// TestRareClassIsPredicted: of 8,000 records of which 5 % are of class one, predictions that count the noise
// are about as good as plain ones. An arc that settled far from the rate of class one made weights up to
// seven times too long here, and lost .14 a record.
func TestRareClassIsPredicted(t *testing.T) {
	w := world{Rows: 8000, Columns: 12, Correlation: 0.3, Parties: 8, Epsilon: 8, Intercept: -4}
	tl := &tally{world: w, all: map[string][]study.Score{}}
	for seed := range uint64(3) {
		if err := tl.draw(t.Context(), study.Options{Only: []string{"global"}}, 1101+seed, world.load); err != nil {
			t.Fatal(err)
		}
		aware := tl.all["global, noise-aware"][seed].LogLikelihood
		plain := tl.all["global, plain"][seed].LogLikelihood
		t.Logf("seed %d: %.4f, and %.4f with the noise counted", seed, plain, aware)
		if aware < plain-0.01 {
			t.Errorf("%s: %.4f, and %.4f with the noise counted", w.describe(), plain, aware)
		}
	}
}
