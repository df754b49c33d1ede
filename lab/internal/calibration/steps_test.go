package calibration

import (
	"testing"

	"choir/lab/study"
)

// TestDrownedSteps: sessions of DP optimisation whose noise leads the steps far from where the prior expects
// weights end, and predict no worse than the prior. If far points count with precisions that are noise, three
// of these lose .27, .67 and 12, and the last ones end in round 3, where their states leave 64 bits.
func TestDrownedSteps(t *testing.T) {
	for _, c := range []struct {
		world world
		seeds []uint64
	}{
		{world{"drowned", false, 4000, 8, 0.4, 100, 0.03, 0, 0, false}, []uint64{5}},
		{world{"deeper", false, 4000, 8, 0.4, 100, 0.0125, 0, 0, false}, []uint64{4}},
		{world{"beyond the range", false, 16000, 20, 0.4, 300, 0.0125, 0, 0, false}, []uint64{21001, 21002}},
	} {
		tl := &tally{world: c.world, all: map[string][]study.Score{}}
		for i, seed := range c.seeds {
			o := study.Options{Only: []string{"optimisation"}}
			if err := tl.draw(t.Context(), o, seed, world.load); err != nil {
				t.Fatal(err)
			}
			if gain := tl.all["optimisation, noise-aware"][i].LogLikelihood - tl.prior[i]; !(gain > -0.01) {
				t.Errorf("%s, seed %d: %.3f above the prior's predictive", c.world.Name, seed, gain)
			}
		}
	}
}
