package own

import (
	"testing"

	"choir/experiment/lab"
	"choir/experiment/study"
)

// TestQuick runs one seed of every study, shrunk to what a test has time for, and looks
// at what comes out; the figures are those of docs/results.md only in full.
func TestQuick(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: lab.Clear, Quick: true}
	for _, s := range Studies() {
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
	}
}
