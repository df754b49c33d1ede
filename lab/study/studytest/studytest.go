// Package studytest runs studies as small as a test has time for.
package studytest

import (
	"testing"

	"choir/lab/study"
)

// Quick runs one seed of every study, shrunk, and checks the result: accuracies are between
// the worst guess and what no method reaches, and privacy is accounted for. The figures mean
// nothing.
func Quick(t *testing.T, studies []study.Study, o study.Options) (all []*study.Result) {
	t.Helper()
	if len(studies) == 0 {
		t.Fatal("no studies")
	}
	o.Seeds, o.Quick = 1, true
	for _, s := range studies {
		r, err := s.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		for _, row := range r.Rows {
			if row.Measure == study.Accuracy && !(row.Ours > 0.2 && row.Ours < 0.95) {
				t.Errorf("%s: %+v", s.Name, row)
			}
		}
		if len(r.Spent) == 0 {
			t.Errorf("%s accounts for nothing", s.Name)
		}
		all = append(all, r)
	}
	return all
}
