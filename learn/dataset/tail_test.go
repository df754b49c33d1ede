package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLongTail: targets as costs and such with a few wild values are warned of, others are not.
func TestLongTail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		draw func(i int) float64
		want bool
	}{
		{"normal", func(int) float64 { return 3 + r.NormFloat64() }, false},
		{"one in ten", func(i int) float64 { return max(0, 1-float64(i%10)) }, false}, // 2.67
		{"exponential", func(int) float64 { return r.ExpFloat64() }, false},           // 2
		{"costs", func(int) float64 { return math.Exp(r.NormFloat64()) }, true},
		{"a few a thousand times as large", func(i int) float64 {
			v := 5 + r.NormFloat64()
			if i%200 == 0 {
				v *= 1000
			}
			return v
		}, true},
		{"constant", func(int) float64 { return 0.1 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "y,x\n"
			for i := range 2000 {
				text += fmt.Sprintf("%g,1\n", c.draw(i))
			}
			rec := read(t, text)
			s := &Schema{Version: SchemaVersion, Source: "a test", Target: Numeric("y", -1e6, 1e6), Missing: Zero,
				Unseen: Zero, Columns: []Column{Numeric("x", 0, 2)}}
			check, err := rec.Check(s)
			if err != nil {
				t.Fatal(err)
			}
			got := LongTail("y", check.Skewness)
			if (got != "") != c.want || c.want && !strings.Contains(got, "logarithm") {
				t.Errorf("skewness %g: %q", check.Skewness, got)
			}
		})
	}
	if got := Skewness([]float64{0, 0, 0, 4}); math.Abs(got-2/math.Sqrt(3)) > 1e-12 { // by hand: 6 / 3^1.5
		t.Errorf("%g", got)
	}
}
