//go:build nightly

package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
)

// fresh is a world that writes cells: categories, missing values, and parties that differ.
type fresh struct {
	columns string // of the schema's file
	row     func(r *rand.Rand, party int) (cells []string, logit float64)
	records []int
	epsilon float64
}

// tested is the number of a party whose rows are those of all.
const tested = -1

func (f fresh) rows(t *testing.T, s *dataset.Schema, n, party int, seed uint64) bayes.Data {
	t.Helper()
	rec := &dataset.Records{Name: "fresh"}
	for _, c := range s.Columns {
		rec.Header = append(rec.Header, c.Name)
	}
	rec.Header = append(rec.Header, s.Target.Name)
	r := rand.New(rand.NewPCG(seed, 90125))
	for i := range n {
		at := party
		if party == tested {
			at = r.IntN(len(f.records))
		}
		cells, z := f.row(r, at)
		label := s.Target.Categories[0]
		if r.Float64() < 1/(1+math.Exp(-z)) {
			label = s.Target.Categories[1]
		}
		rec.Cells = append(rec.Cells, append(cells, label))
		rec.Lines = append(rec.Lines, i+2)
	}
	table, err := rec.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return rows(table)
}

// trial takes advice on a world.
func (f fresh) trial(t *testing.T) trial {
	t.Helper()
	ad := advisor(t, freshHead+f.columns)
	ad.Records, ad.Epsilon = f.records, f.epsilon
	known := f.rows(t, ad.Schema, 4000, tested, 1)
	best, plain := ad.choose(t, known, f.rows(t, ad.Schema, 8000, tested, 3))
	return trial{ad, best, plain, func(seed uint64) *Data {
		d := &Data{Schema: ad.Schema, Columns: ad.Schema.EncodedColumns(),
			Test: f.rows(t, ad.Schema, 4000, tested, 1000*seed+99)}
		for i, n := range f.records {
			d.Parts = append(d.Parts, f.rows(t, ad.Schema, n, i, 1000*seed+uint64(i)+20))
		}
		return d
	}}
}

func number(v float64) string { return fmt.Sprintf("%.4g", v) }

// numbers are lines of a schema.
func numbers(n int, bounds string) (text string) {
	for j := range n {
		text += fmt.Sprintf("c%d = %s\n", j, bounds)
	}
	return text
}

// levels is a column of n categories.
func levels(name string, n int) string {
	var all []string
	for k := range n {
		all = append(all, fmt.Sprintf("%q", fmt.Sprint("l", k)))
	}
	return name + " = [" + strings.Join(all, ", ") + "]\n"
}

const freshHead = "missing = \"zero\"\nunseen = \"zero\"\n[target]\ny = [\"no\", \"yes\"]\n[columns]\n"

const standard = "{ lo = -3, hi = 3, center = 0, scale = 1 }"

func freshWorlds() map[string]fresh {
	// gaussian returns k numbers and their cells, of which a share is missing.
	gaussian := func(r *rand.Rand, k int, missing float64) (x []float64, cells []string) {
		for range k {
			v := r.NormFloat64()
			cell := number(max(-3, min(3, v)))
			if r.Float64() < missing {
				cell = ""
			}
			x, cells = append(x, v), append(cells, cell)
		}
		return x, cells
	}
	effect := func(k int) float64 { return math.Sin(7 * float64(k+1)) } // of a category
	zipf := func(r *rand.Rand, n int) int {
		return min(n-1, int(math.Exp(r.Float64()*math.Log(float64(n+1))))-1)
	}
	return map[string]fresh{
		"levels": {levels("a", 40) + levels("b", 25) + numbers(2, standard),
			func(r *rand.Rand, _ int) ([]string, float64) {
				a, b := zipf(r, 40), zipf(r, 25)
				x, cells := gaussian(r, 2, 0)
				return append([]string{fmt.Sprint("l", a), fmt.Sprint("l", b)}, cells...),
					2*effect(a) + 1.5*effect(b+50) + x[0]
			}, []int{400, 300, 500}, 3},
		"missing": {numbers(6, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 6, 0.3)
			return cells, 1.8*x[0] - 1.4*x[1] + x[2] + 0.3
		}, []int{300, 350, 250}, 3},
		"missing where high": {numbers(5, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 5, 0.05)
			if x[0] > 0.5 && r.Float64() < 0.7 {
				cells[0] = ""
			}
			return cells, 2*x[0] - x[1]
		}, []int{280, 420}, 2},
		"shifted parties": {numbers(5, standard), func(r *rand.Rand, party int) ([]string, float64) {
			x, cells := gaussian(r, 5, 0)
			for j := range x[:3] {
				x[j] = 0.5*x[j] + 0.9*float64(party-1)
				cells[j] = number(max(-3, min(3, x[j])))
			}
			return cells, 1.5*x[0] - 1.2*x[1] + x[3]
		}, []int{300, 300, 300}, 3},
		"other rates": {numbers(4, standard), func(r *rand.Rand, party int) ([]string, float64) {
			x, cells := gaussian(r, 4, 0)
			return cells, 1.6*x[0] + 0.8*x[1] + 1.5*float64(party) - 2
		}, []int{250, 350, 200, 300}, 3},
		"rare class": {numbers(6, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 6, 0)
			return cells, 1.2*x[0] + 0.8*x[1] - 3.9
		}, []int{900, 700, 800}, 3},
		"exclusive or": {numbers(4, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 4, 0)
			return cells, 3*x[0]*x[1] + 1.2*x[2] + 0.5
		}, []int{300, 500, 250}, 3},
		"inside": {numbers(5, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 5, 0)
			return cells, 2.5 - x[0]*x[0] - x[1]*x[1] + 1.5*x[2]
		}, []int{400, 400}, 4},
		"cauchy": {numbers(6, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			var cells []string
			z := 0.2
			for j := range 6 {
				v := 0.6 * math.Tan(math.Pi*(r.Float64()-0.5))
				cells = append(cells, number(v)) // cut by the schema
				z += []float64{1, -0.7, 0.5, 0, 0, 0}[j] * v
			}
			return cells, z
		}, []int{320, 280, 300}, 2},
		"ranges": {numbers(7, "[0, 400]"), func(r *rand.Rand, _ int) ([]string, float64) {
			var cells []string
			z := -0.5
			for j := range 7 {
				v := r.ExpFloat64() // 30 to 200 of 400
				cells = append(cells, number(min(400, 30+40*v)))
				z += []float64{1.1, -0.9, 0.7, 0, 0, 0, 0.4}[j] * (v - 1)
			}
			return cells, z
		}, []int{500, 400, 300}, 4},
		"forty": {numbers(40, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 40, 0)
			z := 0.0
			for j, v := range x {
				z += 0.35 * effect(j) * v
			}
			return cells, z
		}, []int{500, 600, 400, 700}, 5},
		"many sites": {levels("w", 6) + numbers(3, standard), func(r *rand.Rand, party int) ([]string, float64) {
			x, cells := gaussian(r, 3, 0.1)
			k := (party + r.IntN(3)) % 6
			return append([]string{fmt.Sprint("l", k)}, cells...), 1.3*x[0] - x[1] + 1.2*effect(k)
		}, []int{60, 45, 80, 30, 70, 55, 60, 90, 40, 60, 60, 45, 80, 30, 70, 55, 60, 90, 40, 60}, 2},
		"tight and tiny": {numbers(3, standard), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 3, 0)
			return cells, 2*x[0] - 1
		}, []int{45, 60, 50}, 1},
		"tree": {numbers(5, standard) + levels("k", 3), func(r *rand.Rand, _ int) ([]string, float64) {
			x, cells := gaussian(r, 5, 0.05)
			k := r.IntN(3)
			z := -1.5
			switch {
			case k == 0 && x[0] > 0.3:
				z = 2
			case k > 0 && x[1] > 0 && x[2] < 0.8:
				z = 1.2
			}
			return append(cells, fmt.Sprint("l", k)), z
		}, []int{350, 250, 400}, 3},
	}
}

// TestAdviceFresh: as TestAdviceHeldOut, in worlds with categories of many levels, missing values, parties
// whose rows differ, rare classes and log-odds that are not linear.
func TestAdviceFresh(t *testing.T) {
	accurate, likely, all := 0, 0, 0
	for name, f := range freshWorlds() {
		t.Run(name, func(t *testing.T) {
			a, l, n := f.trial(t).count(t, name)
			accurate, likely, all = accurate+a, likely+l, all+n
		})
	}
	t.Logf("of %d sessions %d and %d", all, accurate, likely)
	if 10*accurate < 8*all || 10*likely < 8*all {
		t.Error("the intervals don't cover")
	}
}
