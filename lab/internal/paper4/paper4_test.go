package paper4

import (
	"testing"

	"choir/lab/study"
	"choir/lab/study/studytest"
)

// TestQuick runs two rounds of every study, over secure sums, and holds what they say to
// have spent to their plans' budget.
func TestQuick(t *testing.T) {
	for _, r := range studytest.Quick(t, Studies(), study.Options{Transport: study.Memory}) {
		for _, sp := range r.Spent {
			if !(sp.Epsilon > 0 && sp.Epsilon <= 1) {
				t.Errorf("%s: %s spent %v", r.Name, sp.Method, sp.Epsilon)
			}
		}
	}
}
