//go:build nightly

package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sized repeats a number of records.
func sized(parties, each int) (records []int) {
	for i := range parties {
		records = append(records, each+each/5*(i%3-1))
	}
	return records
}

// shapes are worlds of steps, products, heavy tails, rare classes and ranges that are far too wide, from 300
// to 20,000 records at 3 to 40 parties and epsilon 0.5 to 8.
func shapes() map[string]fresh {
	gaussian := func(r *rand.Rand, k int) (x []float64, cells []string) {
		for range k {
			v := r.NormFloat64()
			x, cells = append(x, v), append(cells, number(v))
		}
		return x, cells
	}
	return map[string]fresh{
		"a step": {numbers(4, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 4)
			if x[0] > 0.4 {
				return cells, 2.2
			}
			return cells, -1.4
		}, sized(3, 100), 2},
		"two steps": {numbers(6, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 6)
			return cells, 1.5*math.Copysign(1, x[0]+0.5) - 1.1*math.Copysign(1, x[1]-0.3)
		}, sized(40, 50), 1},
		"wide ranges": {numbers(5, "[0, 1000]"), func(r *rand.Rand, _ int) ([]string, float64) {
			var cells []string
			z := -0.7
			for j := range 5 {
				v := r.ExpFloat64() // most of them below 60 of 1000
				cells = append(cells, number(min(1000, 20*v)))
				z += []float64{1.4, -0.8, 0.6, 0, 0}[j] * (v - 1)
			}
			return cells, z
		}, sized(5, 600), 4},
		"a product": {numbers(4, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 4)
			return cells, 2*x[0]*x[1] + 0.9*x[2]
		}, sized(4, 750), 8},
		"heavy tails": {numbers(5, "{ lo = -8, hi = 8, center = 0, scale = 1 }"),
			func(r *rand.Rand, _ int) ([]string, float64) {
				var cells []string
				z := -0.3
				for j := range 5 {
					v := r.NormFloat64() / math.Pow(r.Float64()+1e-9, 0.6)
					cells = append(cells, number(v))
					z += []float64{0.8, -0.6, 0.3, 0, 0}[j] * v
				}
				return cells, z
			}, sized(8, 150), 0.5},
		"one in twenty": {numbers(7, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 7)
			return cells, x[0] + 0.6*x[1] - 0.5*x[2] - 3.6
		}, sized(10, 2000), 1},
		"amounts and codes": {numbers(2, "[0, 10000]") + levels("k", 12),
			func(r *rand.Rand, _ int) ([]string, float64) {
				a, b, k := r.NormFloat64(), r.NormFloat64(), r.IntN(12)
				return []string{number(min(1e4, 80*math.Exp(1.1*a))), number(min(1e4, 900*math.Exp(0.5*b))),
					fmt.Sprint("l", k)}, 1.2*a - 0.7*b + 1.3*math.Sin(2*float64(k)) - 0.4
			}, sized(6, 830), 3},
		"piled at zero": {numbers(6, "[0, 50]"), func(r *rand.Rand, party int) ([]string, float64) {
			var cells []string
			z := 0.2 * float64(party%4)
			for j := range 6 {
				v := 0.0
				if r.Float64() < 0.4 {
					v = 5 + 6*r.ExpFloat64()
				}
				cells = append(cells, number(min(50, v)))
				z += []float64{0.12, -0.1, 0.08, 0, 0, 0}[j] * v
			}
			return cells, z - 0.6
		}, sized(15, 60), 6},
	}
}

// TestAdviceShapes: nine of ten sessions are within the printed spread, of the setting that is advised and of
// the plan without any setting of its own, in worlds on which nothing was chosen.
func TestAdviceShapes(t *testing.T) {
	accurate, likely, all := 0, 0, 0
	for name, f := range shapes() {
		t.Run(name, func(t *testing.T) {
			tr := f.trial(t)
			for _, s := range []Advised{tr.best, tr.plain} {
				tr.best = s
				a, l, n := tr.count(t, name)
				accurate, likely, all = accurate+a, likely+l, all+n
			}
		})
	}
	t.Logf("of %d sessions %d and %d", all, accurate, likely)
	if 10*accurate < 9*all || 10*likely < 9*all {
		t.Error("the intervals don't cover")
	}
}
