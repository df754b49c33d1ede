package threat

import (
	"strings"
	"testing"

	"choir/lab/study"
	"choir/lab/study/studytest"
)

// TestPicked: the names of --only select methods, and another one is refused with the names there are.
func TestPicked(t *testing.T) {
	some, err := picked(study.Options{Only: []string{"global", "dataset"}})
	if err != nil || len(some) != 2 || some[0].name != "dataset" || some[1].name != "global" {
		t.Errorf("%+v, %v", some, err)
	}
	_, err = picked(study.Options{Only: []string{"dataset", "epsilon"}})
	if err == nil || !strings.Contains(err.Error(), `"epsilon" is no method of threat-adult; name some of`) {
		t.Error(err)
	}
	if some, err = picked(study.Options{}); err != nil || len(some) != len(methods(false)) {
		t.Errorf("%+v, %v", some, err)
	}
}

// TestQuick: on every method's plan the coalition stays below the claim, and without noise it tells a record
// of Adult from others.
func TestQuick(t *testing.T) {
	for _, r := range studytest.Quick(t, []study.Study{Study()}, study.Options{Transport: study.Memory}) {
		each := len(scenarios) - 1 + 2 // rank has no epsilon
		if len(r.Rows) != each*len(methods(true)) || len(r.Spent) != len(methods(true)) {
			t.Fatalf("%d rows, %d claims", len(r.Rows), len(r.Spent))
		}
		for i, row := range r.Rows {
			if row.Method == unnoised && row.Ours < 0.9 {
				t.Errorf("without noise a record of Adult is told with an area of %.3f", row.Ours)
			}
			claim := r.Spent[i/each]
			above := row.Measure == study.EpsilonOf && row.Ours > claim.Epsilon
			if row.Case != claim.Method || above || row.Why != "" {
				t.Errorf("%+v of %+v", row, claim)
			}
		}
	}
}
