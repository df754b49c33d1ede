package paper4

import (
	"path/filepath"
	"testing"

	"choir/dataset/datasettest"
	"choir/experiment/study"
)

// TestQuick runs one seed of two rounds of every study and looks at what comes out;
// the figures are those of docs/results.md only in full.
func TestQuick(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: study.Memory, DataDir: filepath.Dir(datasettest.Path(t, "adult")), Quick: true}
	for _, s := range Studies() {
		r, err := s.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		for _, sp := range r.Spent {
			if !(sp.Epsilon > 0 && sp.Epsilon <= 1) {
				t.Errorf("%s: %s spent %v", s.Name, sp.Method, sp.Epsilon)
			}
		}
		for _, row := range r.Rows {
			if row.Measure == study.Accuracy && !(row.Ours > 0.2 && row.Ours < 0.9) {
				t.Errorf("%s: %+v", s.Name, row)
			}
		}
	}
}
