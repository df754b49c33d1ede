package threat

import (
	"testing"

	"choir/lab/study"
	"choir/lab/study/studytest"
)

// TestQuick: on every method's plan the coalition stays below the claim.
func TestQuick(t *testing.T) {
	for _, r := range studytest.Quick(t, []study.Study{Study()}, study.Options{Transport: study.Memory}) {
		each := len(scenarios) - 1 // rank has no epsilon
		if len(r.Rows) != each*len(methods(true)) || len(r.Spent) != len(methods(true)) {
			t.Fatalf("%d rows, %d claims", len(r.Rows), len(r.Spent))
		}
		for i, row := range r.Rows {
			if claim := r.Spent[i/each]; row.Case != claim.Method || row.Ours > claim.Epsilon || row.Why != "" {
				t.Errorf("%+v of %+v", row, claim)
			}
		}
	}
}
