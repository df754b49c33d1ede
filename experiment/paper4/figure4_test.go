package paper4

import (
	"path/filepath"
	"testing"

	"choir/dataset/datasettest"
	"choir/experiment/study"
)

// TestQuickNetwork runs two rounds of the network over the secure sum: they are accounted for, and
// they already predict better than the majority's share, .7607, would in the mean log
// likelihood, -.55.
func TestQuickNetwork(t *testing.T) {
	o := study.Options{Seeds: 1, Transport: study.Memory, DataDir: filepath.Dir(datasettest.Path(t, "adult")), Quick: true}
	r, err := Network().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if len(r.Spent) != 1 || !(r.Spent[0].Epsilon > 1 && r.Spent[0].Epsilon <= 2) {
		t.Errorf("spent %+v", r.Spent)
	}
	for _, row := range r.Rows {
		if row.Measure == study.LogLikelihood && !(row.Ours > -0.55 && row.Ours < -0.3) {
			t.Errorf("%+v", row)
		}
	}
}
