package paper3

import (
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/lab/study/studytest"
)

// TestQuick runs the figures on their first settings. Where nothing is wrong in the published code, ours
// agree with it.
func TestQuick(t *testing.T) {
	for _, r := range studytest.Quick(t, Studies(), study.Options{Transport: bed.Clear}) {
		for _, row := range r.Rows {
			if row.Paper != nil && row.Verdict != study.NotReproducible && row.Verdict != study.Reproduced {
				t.Errorf("%s: %+v", r.Name, row)
			}
		}
	}
}
