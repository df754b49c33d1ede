package calibration

import (
	"testing"

	"choir/lab/study"
)

// TestWeightsLongTogether: intervals cover weights twice as long together as the prior draws them. In these
// sessions they covered .36 by virtual clients, .70 by global inference and .64 by the trace under the plan's
// prior alone.
func TestWeightsLongTogether(t *testing.T) {
	w := world{Rows: 6000, Columns: 10, Correlation: 0.3, Parties: 5, Epsilon: 4, Signal: 6.3}
	tl := &tally{world: w, all: map[string][]study.Score{}}
	o := study.Options{Only: []string{"virtual", "global", "trace"}}
	for seed := range uint64(4) {
		if err := tl.draw(t.Context(), o, 1+seed, world.load); err != nil {
			t.Fatal(err)
		}
	}
	all := 0.0
	for _, method := range o.Only {
		cover := 0.0
		for _, s := range tl.all[method+", noise-aware"] {
			cover += s.Coverage[1] / 4
		}
		t.Logf("%s: cover %.3f", method, cover)
		all += cover / 3
	}
	if all < 0.8 {
		t.Errorf("%s: cover %.3f by all methods", w.describe(), all)
	}
}
