package study

import "testing"

// TestOursText: values that differ by their rounding alone have no standard error.
func TestOursText(t *testing.T) {
	for want, values := range map[string][]float64{
		"1 (0)":       {1, 1 - 1e-16, 1 + 2e-16},
		"2 (0.577)":   {1, 2, 3},
		"0 (0)":       {0, 0},
		"0.5 (1e-06)": {0.5 - 1e-6, 0.5 + 1e-6},
		"7":           {7},
	} {
		if got := (Row{Measure: Coverage, Values: values}).Mean().OursText(); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}
