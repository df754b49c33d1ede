package centre

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
	"choir/learn/dataset"
	"choir/learn/pvi"
)

// ward has two columns that are encoded by their range and one of categories between them;
// the last is standardised.
func ward() *dataset.Schema {
	return &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test",
		Target: dataset.Binary("ill", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100), dataset.Categorical("ward", "A", "B"),
			dataset.Standardised("crp", 0, 500, 100, 400), dataset.Standardised("bmi", 10, 80, 25, 5)}}
}

const features = 6 // age, two wards, crp, bmi, bias

func grid() (g fixedpoint.Grid, clip float64, bound uint64) {
	return fixedpoint.Grid{FracBits: 20}, 0.25, 1 << 18
}

func draw(rnd *rand.Rand, rows int) pvi.Data {
	var d pvi.Data
	for range rows {
		d.X = append(d.X, 0.4+0.1*rnd.NormFloat64(), 1, 0, -0.1+0.05*rnd.NormFloat64(), rnd.NormFloat64(), 1)
		d.Y = append(d.Y, 1)
	}
	return d
}

func TestOf(t *testing.T) {
	c := Of(ward())
	if c.Len() != 2 || c.columns[0].at != 0 || c.columns[1].at != 3 {
		t.Fatalf("%+v", c)
	}
	if got := c.columns[1]; got.middle != 0.375 || got.half != 0.625 {
		t.Errorf("crp has the middle %v and half %v", got.middle, got.half)
	}
}

// TestSumIsBounded: replacing one record moves a sum by at most two bounds, and a party's
// sum has at most one bound a group, whatever the records are.
func TestSumIsBounded(t *testing.T) {
	g, clip, bound := grid()
	c := Of(ward())
	norm := func(v []int64) float64 {
		square := 0.0
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		return math.Sqrt(square)
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 9).Draw(t, "rows")
		groups := rapid.IntRange(1, 9).Draw(t, "groups")
		value := rapid.Float64Range(-1e6, 1e6)
		x := rapid.SliceOfN(value, rows*features, rows*features).Draw(t, "x")
		d := pvi.Data{X: x, Y: make([]float64, rows)}
		a, b := make([]int64, 2*features), make([]int64, 2*features)
		if _, err := c.Sum(a, d, groups, g, clip, bound); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, rows-1).Draw(t, "record") * features
		copy(d.X[at:at+features], rapid.SliceOfN(value, features, features).Draw(t, "other"))
		if _, err := c.Sum(b, d, groups, g, clip, bound); err != nil {
			t.Fatal(err)
		}
		if n := norm(a); n > float64(min(rows, groups))*float64(bound)*(1+1e-12) {
			t.Fatalf("the sum has norm %v", n)
		}
		for i := range a {
			a[i] -= b[i]
		}
		if n := norm(a); n > 2*float64(bound)*(1+1e-12) {
			t.Fatalf("one record moves the sum by %v, two bounds are %v", n, 2*bound)
		}
	})
}

// TestCentres: without noise the centres are the means, and recoded columns have mean 0; under
// noise alone all columns get about their common mean.
func TestCentres(t *testing.T) {
	g, clip, bound := grid()
	c := Of(ward())
	d := draw(rand.New(rand.NewPCG(1, 2)), 500)
	state := make([]int64, 1+2*features)
	for range 2 {
		state[0]++
		if _, err := c.Sum(state[1:], d, 1000, g, clip, bound); err != nil {
			t.Fatal(err)
		}
	}
	frame := c.Frame(state, 0)
	centres := frame.Centres
	for j, want := range []float64{0.4, (-0.1 - 0.375) / 0.625} {
		if math.Abs(centres[j]-want) > 0.02 {
			t.Errorf("centre %d is %v, want %v", j, centres[j], want)
		}
	}
	x := c.Recode(d.X, frame)
	mean := make([]float64, features)
	for i, v := range x {
		mean[i%features] += v / 500
	}
	for j, want := range []float64{0, 1, 0, 0} {
		if math.Abs(mean[j]-want) > 0.01 {
			t.Errorf("column %d is recoded to mean %v, want %v", j, mean[j], want)
		}
	}
	if math.Abs(mean[5]-1) > 1e-9 {
		t.Errorf("the bias is recoded to mean %v", mean[5])
	}
	loud := c.Frame(state, 1e20).Centres
	if loud[0] != loud[1] || math.Abs(loud[0]) > 1 {
		t.Errorf("under noise alone the centres are %v", loud)
	}
	if none := c.Frame(make([]int64, 1+2*features), 1).Centres; none[0] != 0 || none[1] != 0 {
		t.Errorf("without a round the centres are %v", none)
	}
}

// TestWeights: weights of recoded columns predict of recoded records what the others do of encoded ones.
func TestWeights(t *testing.T) {
	frame, c := Frame{[]float64{-0.7, 0.2}, []float64{0.4, 0.35}}, Of(ward())
	d := draw(rand.New(rand.NewPCG(3, 4)), 50)
	w := make([]float64, features)
	for j := range w {
		w[j] = float64(j*j) - 7
	}
	recoded, of := c.Recode(d.X, frame), c.Weights(w, frame)
	for i := range d.Rows() {
		want, got := 0.0, 0.0
		for j := range w {
			want += w[j] * d.X[i*features+j]
			got += of[j] * recoded[i*features+j]
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("record %d: %v, want %v", i, got, want)
		}
	}
}

// TestSample: a sample has each record with the rate's probability, with its own label, within five standard
// deviations (one in a million runs is outside); rate 1 has all of them and reads nothing, and a reader that
// fails is an error.
func TestSample(t *testing.T) {
	rnd := rand.NewChaCha8([32]byte{7})
	const n = 4000
	var d pvi.Data
	for i := range n {
		d.X = append(d.X, float64(i), 1)
		d.Y = append(d.Y, float64(i%2))
	}
	got, err := Sample(d, 0.25, rnd)
	if err != nil || math.Abs(float64(got.Rows())-n/4) > 5*math.Sqrt(n*0.25*0.75) {
		t.Fatalf("%d of %d records, %v", got.Rows(), n, err)
	}
	for i, y := range got.Y {
		if row := got.X[2*i]; math.Mod(row, 2) != y || i > 0 && row <= got.X[2*i-2] {
			t.Fatalf("record %d is %v with label %v", i, row, y)
		}
	}
	if all, err := Sample(d, 1, nil); err != nil || all.Rows() != n {
		t.Errorf("%d records, %v", all.Rows(), err)
	}
	if _, err := Sample(d, 0.5, strings.NewReader("short")); err == nil {
		t.Error("no error of a reader that ends")
	}
	if none, err := Sample(pvi.Data{}, 0.5, rnd); err != nil || none.Rows() != 0 {
		t.Errorf("%d of no records, %v", none.Rows(), err)
	}
}

// TestSchema: encoding by the new schema is encoding by the old one and recoding.
func TestSchema(t *testing.T) {
	frame := Frame{[]float64{-0.7, 0.2}, []float64{0.4, 0.35}}
	next := Schema(ward(), &frame)
	for name, v := range map[string]float64{"age": 12, "crp": 377, "bmi": 31} {
		for i, c := range ward().Columns {
			if c.Name != name {
				continue
			}
			r, n := c.Numeric, next.Columns[i].Numeric
			row := make([]float64, features)
			at := map[string]int{"age": 0, "crp": 3, "bmi": 4}[name]
			row[at] = (v - r.Center) / r.Scale
			want := Of(ward()).Recode(row, frame)[at]
			if got := (v - n.Center) / n.Scale; math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	if Of(next).Len() != 0 {
		t.Error("a centred schema has columns to centre")
	}
}

func TestRounds(t *testing.T) {
	for learning := 20; learning <= 120; learning++ {
		if n := Rounds(learning); RoundsOf(learning+n) != n {
			t.Errorf("%d rounds of learning have %d more, and %d of all", learning, n, RoundsOf(learning+n))
		}
	}
	if RoundsOf(4) != 0 || RoundsOf(5) != 1 {
		t.Error("few rounds")
	}
}
