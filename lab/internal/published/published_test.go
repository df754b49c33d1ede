package published

import (
	"math"
	"strings"
	"testing"

	"choir/lab/study"
)

// limits are those of a measure; those of an unknown one admit nothing.
func limits(m study.Measure) (lo, hi float64) {
	switch m {
	case study.Accuracy:
		return 0.5, 0.9
	case study.LogLikelihood:
		return -1.3, -0.3
	case study.MAE, study.RelativeMAE, study.Seconds:
		return 0, math.Inf(1)
	}
	return 0, 0
}

// TestNumbers: every number is of a known measure, in its range, with its source, and
// entered once; some are compared with what the papers print.
func TestNumbers(t *testing.T) {
	n, err := Of("workshop-table5")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range n.doc.Figures {
		key := strings.Join([]string{f.Study, f.Case, f.Method, string(f.Measure)}, "|")
		if seen[key] {
			t.Errorf("%s twice", key)
		}
		seen[key] = true
		lo, hi := limits(f.Measure)
		if !(f.Value > lo && f.Value < hi) || f.Where == "" || !(f.Precision >= 0) {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range n.doc.Curves {
		if len(c.X) < 2 || len(c.X) != len(c.Y) {
			t.Errorf("%s, %s, %s: %d and %d numbers", c.Study, c.Case, c.Method, len(c.X), len(c.Y))
		}
		for i := 1; i < len(c.X); i++ {
			if !(c.X[i] > c.X[i-1]) {
				t.Errorf("%s, %s, %s: x is not ascending", c.Study, c.Case, c.Method)
			}
		}
	}
	if len(seen) < 100 || len(n.doc.Curves) < 40 || len(n.doc.Sources) != 3 {
		t.Errorf("%d figures, %d curves, %d sources", len(seen), len(n.doc.Curves), len(n.doc.Sources))
	}
	if f := n.Figure("B", "DP-PVI, epsilon 0.75", study.LogLikelihood); f == nil || f.Value != -0.3332 {
		t.Errorf("%+v", f)
	}
	if n.Figure("B", "nothing", study.Accuracy) != nil || n.Curve("A", "PVI", study.Accuracy) == nil {
		t.Error("a number that is not there, or one that is")
	}
}
