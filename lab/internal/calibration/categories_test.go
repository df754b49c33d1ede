package calibration

import (
	"testing"

	"choir/lab/experiment"
	"choir/lab/study"
)

// TestMissingCells: with 8 % of all cells missing, of columns of which a range alone is public, sessions
// predict better than the rate of the class or the mean, and 90 % intervals of slopes and differences of
// levels cover. Where a missing number is in the middle of its range they cover .62 of these by global
// inference and .48 by statistics.
func TestMissingCells(t *testing.T) {
	for at, methods := range map[int][]string{3: {"global"}, 7: {"statistics"}} {
		w := categoryWorlds(false)[at]
		load := func(_ world, seed uint64) (*experiment.Data, []float64, error) { return w.load(seed) }
		tl := &tally{world: w.world, all: map[string][]study.Score{}}
		const seeds = 3
		for seed := range uint64(seeds) {
			if err := tl.draw(t.Context(), study.Options{Only: methods}, 71_001+seed, load); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range methods {
			cover := 0.0
			for i, s := range tl.all[m+", noise-aware"] {
				cover += s.Coverage[1] / seeds
				if gain := s.LogLikelihood - tl.constant[i]; !(gain > 0.02) {
					t.Errorf("%s, seed %d: %.3f above the constant prediction", m, i, gain)
				}
			}
			if !(cover > 0.75) {
				t.Errorf("%s: 90 %% intervals cover %.3f", m, cover)
			}
		}
	}
}
