//go:build nightly

package experiment

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"choir/lab/uci"
	"choir/learn/bayes"
	"choir/learn/dataset"
)

// heldWorlds draw by other distributions and log-odds than the twins and coveredWorlds.
func heldWorlds() map[string]covered {
	laplace := func(r *rand.Rand, _ int) float64 { return r.ExpFloat64() * float64(2*r.IntN(2)-1) / math.Sqrt2 }
	arcsine := func(r *rand.Rand, _ int) float64 { return math.Sqrt2 * math.Sin(2*math.Pi*r.Float64()) }
	grades := func(r *rand.Rand, _ int) float64 { return float64(r.IntN(5)-2) / math.Sqrt2 }
	absent := func(r *rand.Rand, _ int) float64 { // nothing in seven rows of ten
		v := -0.3
		if r.Float64() < 0.3 {
			v += r.ExpFloat64()
		}
		return v / 0.71
	}
	counts := func(r *rand.Rand, _ int) float64 { // Poisson of mean 1.5
		n := -1.0
		for sum := 0.0; sum < 1.5; sum += r.ExpFloat64() {
			n++
		}
		return (n - 1.5) / math.Sqrt(1.5)
	}
	bent := func(x []float64) float64 { return 2.5*math.Sin(1.5*x[0]) + x[1] }
	most := func(x []float64) float64 { return 1.5*max(x[0], x[1], x[2]) - 1.2 }
	mislabelled := func(x []float64) float64 { // one label in ten is wrong
		q := 0.1 + 0.8/(1+math.Exp(-2*x[0]+1.5*x[1]-x[3]))
		return math.Log(q / (1 - q))
	}
	return map[string]covered{
		"laplace":     {laplace, 0, linear(0.5, 1.3, -0.9, 0.4, 0.8), 7, []int{290, 350, 190}, 2},
		"arcsine":     {arcsine, 0.2, linear(-0.5, 1.6, -1.1, 0.9), 5, []int{400, 200, 250}, 3},
		"grades":      {grades, 0.4, linear(0.2, 0.9, 0.9, -0.6, -0.6, 0.8), 8, []int{240, 240, 240, 240}, 1.5},
		"absent":      {absent, 0, linear(-0.3, 1.5, -1.2, 0.8), 6, []int{450, 380}, 2.5},
		"counts":      {counts, 0, linear(0.7, 1, -1.3, 0.6, 0.5), 9, []int{310, 170, 420}, 5},
		"sine":        {laplace, 0, bent, 4, []int{360, 300}, 4},
		"maximum":     {grades, 0, most, 6, []int{220, 260, 330}, 3},
		"mislabelled": {arcsine, 0, mislabelled, 6, []int{280, 320, 200, 150}, 2},
	}
}

// real are published rows of two classes, and a consortium that has some of them.
type real struct {
	table   *dataset.Table
	schema  *dataset.Schema
	records []int
	epsilon float64
}

// parts returns disjoint random samples of the rows.
func (f real) parts(seed uint64, sizes ...int) (d []bayes.Data) {
	all, dim := rows(f.table), f.schema.Dim()
	at := rand.New(rand.NewPCG(seed, 815)).Perm(len(all.Y))
	for _, n := range sizes {
		var part bayes.Data
		for _, i := range at[:min(n, len(at))] {
			part.X = append(part.X, all.X[i*dim:(i+1)*dim]...)
			part.Y = append(part.Y, all.Y[i])
		}
		at = at[min(n, len(at)):]
		d = append(d, part)
	}
	return d
}

// trial takes advice on published rows.
func (f real) trial(t *testing.T) trial {
	t.Helper()
	ad := advisor(t, rehearsedSchema)
	ad.Schema, ad.Records, ad.Epsilon = f.schema, f.records, f.epsilon
	known := f.parts(1, min(4000, f.table.Rows()/2), 8000)
	best, plain := ad.choose(t, known[0], known[1])
	return trial{ad, best, plain, func(seed uint64) *Data {
		all := f.parts(1000*seed+20, append(slices.Clone(f.records), 4000)...)
		n := len(f.records)
		return &Data{Schema: f.schema, Columns: f.schema.EncodedColumns(), Parts: all[:n], Test: all[n]}
	}}
}

// classes encodes rows, the target's numbers from least on as "high".
func classes(t *testing.T, rec *dataset.Records, s *dataset.Schema, least float64) (*dataset.Table,
	*dataset.Schema) {
	t.Helper()
	if least > 0 {
		column := slices.Index(rec.Header, s.Target.Name)
		for _, cells := range rec.Cells {
			v, err := strconv.ParseFloat(cells[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			cells[column] = "low"
			if v >= least {
				cells[column] = "high"
			}
		}
		s.Target = dataset.Binary(s.Target.Name, "low", "high")
	}
	table, err := rec.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return table, s
}

const adultColumns = `
source = "public: round figures"
missing = "refuse"
unseen = "refuse"
[target]
income = ["<=50K", ">50K"]
[columns]
age = { lo = 17, hi = 90, center = 40, scale = 14 }
education-num = { lo = 1, hi = 16, center = 10, scale = 2.5 }
hours-per-week = { lo = 1, hi = 99, center = 40, scale = 12 }
sex = ["Female", "Male"]
relationship = ["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"]
`

// heldReal are the published sets.
func heldReal(t *testing.T) map[string]real {
	t.Helper()
	must := func(rec *dataset.Records, err error) *dataset.Records {
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	some, err := dataset.ParseTOML([]byte(adultColumns))
	if err != nil {
		t.Fatal(err)
	}
	adult := must(uci.Adult(""))
	full, err := uci.AdultPaperSchema(adult)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]real{}
	add := func(name string, rec *dataset.Records, s *dataset.Schema, least, epsilon float64, records ...int) {
		table, schema := classes(t, rec, s, least)
		held[name] = real{table, schema, records, epsilon}
	}
	add("adult, 5 columns", adult, some, 0, 2, 500, 300, 400)
	add("adult", adult, full, 0, 4, 900, 700, 800)
	add("red wine", must(uci.Wine("", "red")), uci.WineSchema(), 6, 3, 300, 250, 200)
	add("white wine", must(uci.Wine("", "white")), uci.WineSchema(), 6, 2, 600, 400)
	add("abalone", must(uci.Abalone("")), uci.AbaloneSchema(), 10, 3, 350, 450, 250, 300)
	return held
}

// TestAdviceHeldOut: the intervals have eight of ten sessions on data on which the allowance of the
// log-likelihood was not chosen; that of the accuracy is the root mean square on these.
func TestAdviceHeldOut(t *testing.T) {
	trials := map[string]func(*testing.T) trial{}
	for name, c := range heldWorlds() {
		trials[name] = c.trial
	}
	for name, f := range heldReal(t) {
		trials[name] = f.trial
	}
	accurate, likely, all := 0, 0, 0
	for name, take := range trials {
		t.Run(name, func(t *testing.T) {
			a, l, n := take(t).count(t, name)
			accurate, likely, all = accurate+a, likely+l, all+n
		})
	}
	t.Logf("of %d sessions %d and %d", all, accurate, likely)
	if 10*accurate < 8*all || 10*likely < 8*all {
		t.Error("the intervals don't cover")
	}
}
