package centre

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/internal/absent"
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

func draw(rnd *rand.Rand, rows int) bayes.Data {
	var d bayes.Data
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
		value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Just(absent.Number()))
		x := rapid.SliceOfN(value, rows*features, rows*features).Draw(t, "x")
		d := bayes.Data{X: x, Y: make([]float64, rows)}
		state := make([]int64, StateLen(ward()))
		for i := range state {
			state[i] = rapid.Int64Range(-1e6, 1e6).Draw(t, "state")
		}
		variance, round := rapid.Float64Range(0, 1e9).Draw(t, "variance"), rapid.IntRange(1, 5).Draw(t, "round")
		view := c.View(state, variance, round, 5)
		a, b := make([]int64, 2*features), make([]int64, 2*features)
		if _, err := view.Sum(a, d, groups, g, clip, bound); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, rows-1).Draw(t, "record") * features
		copy(d.X[at:at+features], rapid.SliceOfN(value, features, features).Draw(t, "other"))
		if _, err := view.Sum(b, d, groups, g, clip, bound); err != nil {
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
	const rounds = 2
	state := make([]int64, StateLen(ward()))
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, 2*features)
		if _, err := c.View(state, 0, round, rounds).Sum(sum, d, 1000, g, clip, bound); err != nil {
			t.Fatal(err)
		}
		var err error
		if state, err = Fold(state, round, rounds, sum); err != nil {
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
	if none := c.Frame(make([]int64, StateLen(ward())), 1).Centres; none[0] != 0 || none[1] != 0 {
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
	var d bayes.Data
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
	if none, err := Sample(bayes.Data{}, 0.5, rnd); err != nil || none.Rows() != 0 {
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

// measured is the state after so many rounds of records of two ranged columns, with normal noise of this
// standard deviation in clips.
func measured(t *testing.T, c Columns, d bayes.Data, rounds int, noise float64, rnd *rand.Rand) []int64 {
	t.Helper()
	g, clip, bound := grid()
	state := make([]int64, StateLen(ward()))
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, 2*features)
		sd := noise * float64(bound)
		view := c.View(state, sd*sd, round, rounds)
		if _, err := view.Sum(sum, d, d.Rows(), g, clip, bound); err != nil {
			t.Fatal(err)
		}
		for i := range sum {
			sum[i] += int64(sd * rnd.NormFloat64())
		}
		var err error
		if state, err = Fold(state, round, rounds, sum); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// at makes records whose first two ranged columns have these positions and deviations.
func at(rnd *rand.Rand, rows int, mean, sd [2]float64) bayes.Data {
	var d bayes.Data
	for range rows {
		x := [2]float64{mean[0] + sd[0]*rnd.NormFloat64(), mean[1] + sd[1]*rnd.NormFloat64()}
		d.X = append(d.X, x[0], 1, 0, 0.375+0.625*x[1], rnd.NormFloat64(), 1)
		d.Y = append(d.Y, 1)
	}
	return d
}

// TestNarrowColumns: of 4,000 records under noise of 60 clips a round, a column of a fortieth of half its
// range far from the middle gets a unit of at most 4 deviations, about a centre that is less than one off, in
// nine of ten sessions, and of at most 6.5 and 1.5 in all of them, where one stage alone leaves six or more;
// one of a usual width keeps its own, within a seventh.
func TestNarrowColumns(t *testing.T) {
	const narrow, usual, seeds = 1.0 / 40, 0.35, 20
	c := Of(ward())
	good := 0
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		d := at(rnd, 4000, [2]float64{-0.8, 0.3}, [2]float64{narrow, usual})
		f := c.Frame(measured(t, c, d, 3, 60, rnd), 60*60*float64(1<<18)*float64(1<<18))
		off, unit := math.Abs(f.Centres[0]+0.8)/narrow, f.Units[0]/narrow
		if off < 1 && unit < 4 {
			good++
		}
		if off > 1.5 || unit > 6.5 || unit < 0.8 {
			t.Errorf("seed %d: narrow column %.2f off, unit %.2f", seed, off, unit)
		}
		if off := math.Abs(f.Centres[1]-0.3) / usual; off > 0.2 || math.Abs(f.Units[1]/usual-1) > 1.0/7 {
			t.Errorf("seed %d: usual column %.2f off, unit %.2f", seed, off, f.Units[1]/usual)
		}
		one := c.Frame(measured(t, c, d, 1, 60, rnd), 60*60*float64(1<<18)*float64(1<<18))
		if one.Units[0] < 6*narrow {
			t.Errorf("seed %d: one stage finds %.2f, the comparison is empty", seed, one.Units[0]/narrow)
		}
	}
	if good < seeds*9/10 {
		t.Errorf("narrow columns are found in %d of %d sessions", good, seeds)
	}
}

// TestCodes: a code that one record in seventy has is looked at as a whole, and keeps the unit of a code; in
// a wider range, where a value of that kind can't be told from a narrow column's, noise narrows it.
func TestCodes(t *testing.T) {
	const noise, unitsOfClip = 60.0, float64(1 << 18)
	for hi, least := range map[float64]float64{1: unit, 2: 0} {
		schema := ward()
		schema.Columns[0] = dataset.Numeric("flag", 0, hi)
		c := Of(schema)
		r := schema.Columns[0].Numeric
		rnd := rand.New(rand.NewPCG(9, 1))
		d := at(rnd, 4200, [2]float64{}, [2]float64{0.1, 0.3})
		for i := range d.Rows() {
			d.X[i*features] = -r.Center / r.Scale
			if i%70 == 0 {
				d.X[i*features] = (1 - r.Center) / r.Scale
			}
		}
		f := c.Frame(measured(t, c, d, 3, noise, rnd), noise*noise*unitsOfClip*unitsOfClip)
		if f.Units[0] < least || least == 0 && f.Units[0] > unit/2 {
			t.Errorf("range to %g: unit %g, want %g or more", hi, f.Units[0], least)
		}
	}
}

// TestHidden: a column of a thousandth of its range is named, the usual one isn't, and its weights may be as
// much longer as the unit is than the narrowest. Without noise, and where the noise hides everything, none
// is.
func TestHidden(t *testing.T) {
	c := Of(ward())
	rnd := rand.New(rand.NewPCG(3, 1))
	d := at(rnd, 4000, [2]float64{-0.8, 0.3}, [2]float64{0.002, 0.35})
	square := func(noise float64) float64 { return noise * noise * float64(1<<18) * float64(1<<18) }
	state := measured(t, c, d, 3, 60, rnd)
	if got := c.Hidden(state, square(60)); !slices.Equal(got, []string{"age"}) {
		t.Errorf("hidden are %v", got)
	}
	longer, unit := c.Longer(state, square(60)), c.Frame(state, square(60)).Units[0]
	for i, l := range longer {
		if want := unit / narrowest; i == 0 && math.Abs(l-want) > 1e-9 || i > 0 && l != 1 {
			t.Errorf("weight %d may be %g times as long, the unit is %g", i, l, unit)
		}
	}
	if got := c.Hidden(measured(t, c, d, 3, 0, rnd), 0); got != nil {
		t.Errorf("without noise %v are hidden", got)
	}
	if got := c.Hidden(measured(t, c, d, 3, 1e5, rnd), square(1e5)); got != nil {
		t.Errorf("under much noise %v are hidden", got)
	}
}

// TestFinest: columns of one value have units of one to two times the finest on average, and more noise makes
// it coarser.
func TestFinest(t *testing.T) {
	c := Of(ward())
	rnd := rand.New(rand.NewPCG(4, 1))
	const unit = float64(1 << 18)
	before := 0.0
	for _, noise := range []float64{20, 60, 200} {
		want := c.Finest(4000, unit, noise*noise*unit*unit, 3)
		mean := 0.0
		for range 40 {
			d := at(rnd, 4000, [2]float64{-0.5, 0.3}, [2]float64{})
			for _, u := range c.Frame(measured(t, c, d, 3, noise, rnd), noise*noise*unit*unit).Units {
				mean += u / 80
			}
		}
		if mean < want || mean > 2*want || want <= before {
			t.Errorf("noise %g: %.4f, columns have %.4f", noise, want, mean)
		}
		before = want
	}
}

// TestFold: rounds are in stages in turn, each counted; a sum that is too short, a round that doesn't measure
// and an overflow are errors, and the state stays.
func TestFold(t *testing.T) {
	n := StateLen(ward()) / stages
	sum := make([]int64, 2*features)
	for i := range sum {
		sum[i] = int64(i) + 1
	}
	state := make([]int64, StateLen(ward()))
	for round := 1; round <= 7; round++ {
		next, err := Fold(state, round, 7, sum)
		if err != nil || slices.Equal(next, state) {
			t.Fatal(err)
		}
		state = next
	}
	for s, want := range []int64{2, 1, 2, 1, 1} {
		if state[s*n] != want || state[s*n+3] != 3*want {
			t.Errorf("stage %d has %d rounds, their sum %d", s, state[s*n], state[s*n+3])
		}
	}
	before := slices.Clone(state)
	for name, bad := range map[string]struct {
		round int
		sum   []int64
		want  error
	}{"short": {1, sum[1:], bayes.ErrShape}, "none": {0, sum, bayes.ErrShape}, "late": {8, sum, bayes.ErrShape},
		"large": {1, slices.Repeat([]int64{math.MaxInt64}, len(sum)), pvi.ErrOverflow}} {
		if _, err := Fold(state, bad.round, 7, bad.sum); !errors.Is(err, bad.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(state, before) {
		t.Error("a fold changed its state")
	}
}

// TestExact: recoded records have mean 0 and deviation 1 in the frame of their own.
func TestExact(t *testing.T) {
	c := Of(ward())
	d := at(rand.New(rand.NewPCG(5, 1)), 300, [2]float64{-0.9, 0.1}, [2]float64{0.02, 0.5})
	x := c.Recode(d.X, c.Exact(d.X))
	for _, j := range []int{0, 3} {
		mean, square := 0.0, 0.0
		for i := j; i < len(x); i += features {
			mean, square = mean+x[i]/300, square+x[i]*x[i]/300
		}
		if math.Abs(mean) > 1e-9 || math.Abs(square-1) > 1e-9 {
			t.Errorf("column %d has mean %g and mean square %g", j, mean, square)
		}
	}
}
