package absent_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"choir/learn/internal/absent"
)

// TestAbsent: only what is missing is, also after it was written down, and it counts as 0.
func TestAbsent(t *testing.T) {
	x := absent.Number()
	if !absent.Is(x) || x != 0 || 3*x+1 != 1 {
		t.Errorf("%v isn't missing, or isn't 0", x)
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, math.SmallestNonzeroFloat64, math.NaN()} {
		if p := absent.Present(v); absent.Is(p) || p != v && v == v {
			t.Errorf("%v became %v", v, p)
		}
	}
	for _, text := range []string{strconv.FormatFloat(x, 'g', -1, 64), "-0.0"} {
		if v, err := strconv.ParseFloat(text, 64); err != nil || !absent.Is(v) {
			t.Errorf("%q is read as %v (%v)", text, v, err)
		}
	}
	var back []float64
	b, err := json.Marshal([]float64{x, 0})
	if err != nil || json.Unmarshal(b, &back) != nil || !absent.Is(back[0]) || absent.Is(back[1]) {
		t.Errorf("%s (%v)", b, err)
	}
}
