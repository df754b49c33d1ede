package centre

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/internal/absent"
)

// TestMissing: numbers that are missing don't move a frame: with a quarter of each column missing its centres
// are those of the others to a tenth of their standard deviation, and a recoded record has the missing ones
// at 0. Taken for the middle of the range, they would move the centre of the narrow column by two of them.
func TestMissing(t *testing.T) {
	c := Of(ward())
	rnd := rand.New(rand.NewPCG(7, 1))
	means, sds := [2]float64{-0.8, 0.5}, [2]float64{0.1, 0.3}
	d := at(rnd, 4000, means, sds)
	middle := bayes.Data{X: append([]float64(nil), d.X...), Y: d.Y}
	for i := 0; i < len(d.X); i += features {
		for _, col := range c.columns {
			if rnd.IntN(4) == 0 {
				d.X[i+col.at], middle.X[i+col.at] = absent.Number(), col.middle
			}
		}
	}
	off := func(d bayes.Data) (worst float64) {
		f := c.Frame(measured(t, c, d, 5, 0, rnd), 0)
		exact := c.Exact(d.X)
		for j, m := range means {
			worst = max(worst, math.Abs(f.Centres[j]-m)/sds[j], math.Abs(exact.Centres[j]-m)/sds[j])
		}
		return worst
	}
	if o := off(d); o > 0.1 {
		t.Errorf("a centre is %.2f standard deviations off", o)
	}
	if o := off(middle); o < 1.5 {
		t.Errorf("of numbers in the middle of the range it is %.2f off: the comparison is empty", o)
	}
	f := Frame{Centres: []float64{-0.8, 0.5}, Units: []float64{0.1, 0.3}}
	for i, x := range c.Recode(d.X, f) {
		missing := absent.Is(d.X[i])
		if missing && x != 0 || !missing && i%features == 0 && math.Abs(x) > 6 {
			t.Fatalf("%v is recoded to %v", d.X[i], x)
		}
	}
}
