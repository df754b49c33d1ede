package paper4

import (
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
)

// TestQuickOthers: each of the other methods is accounted for and compared, and learns from the
// few rows of a test.
func TestQuickOthers(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: bed.Clear, Quick: true}
	r, err := Others().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if len(r.Spent) != 3 || len(r.Rows) != 6 {
		t.Errorf("%d methods spent, %d rows", len(r.Spent), len(r.Rows))
	}
	for _, s := range r.Spent {
		if !(s.Epsilon > 0 && s.Epsilon <= 1) {
			t.Errorf("%s spent %v", s.Method, s.Epsilon)
		}
	}
	for _, row := range r.Rows {
		if row.Measure == study.Accuracy && !(row.Ours > 0.6 && row.Ours < 0.9) || row.Paper == nil {
			t.Errorf("%+v", row)
		}
	}
}
