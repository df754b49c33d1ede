package threat

import (
	"strings"
	"testing"

	"choir/attack/collude"
	"choir/lab/study"
	"choir/lab/study/studytest"
)

// TestRecords: which of two records of Adult is among a party's is told from sums without noise, and under
// the plan's budget not beyond the area that (epsilon, delta) allows.
func TestRecords(t *testing.T) {
	_, out, err := methods(true)[0].attack(t.Context(), study.Options{Quick: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range out.Verdicts {
		if v.Scenario != onAdult {
			continue
		}
		last := v.Detail.Records[len(v.Detail.Records)-1]
		if v.Control && last.Unknown < 0.9 || v.Control != (v.Verdict == collude.Broke) {
			t.Errorf("control %v: %s, %+v", v.Control, v.Verdict, v.Detail.Records)
		}
	}
}

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

// TestQuick: on every method's plan the coalition stays below the claim.
func TestQuick(t *testing.T) {
	for _, r := range studytest.Quick(t, []study.Study{Study()}, study.Options{Transport: study.Memory}) {
		each := len(scenarios) - 1 + 2 // rank has no epsilon
		if len(r.Rows) != each*len(methods(true)) || len(r.Spent) != len(methods(true)) {
			t.Fatalf("%d rows, %d claims", len(r.Rows), len(r.Spent))
		}
		for i, row := range r.Rows {
			claim := r.Spent[i/each]
			above := row.Measure == study.EpsilonOf && row.Ours > claim.Epsilon
			if row.Case != claim.Method || above || row.Why != "" {
				t.Errorf("%+v of %+v", row, claim)
			}
		}
	}
}
