package noiseaware

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// TestArc compares the bend with sums over many normal records: from the curvature at one point
// follows the expected score at it for weights that are far away.
func TestArc(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	point, truth := []float64{0.3, -0.2, 0.1, -0.4}, []float64{1.1, -0.9, 0.6, -0.8}
	d := len(point)
	h := mat.NewSymDense(d, nil)
	score := make([]float64, d)
	slope := func(p float64) float64 { return p * (1 - p) }
	for range n {
		x := []float64{r.NormFloat64(), 0, r.NormFloat64(), 1}
		x[1] = 0.6*x[0] + 0.8*r.NormFloat64()
		at, to := 0.0, 0.0
		for i, v := range x {
			at += point[i] * v
			to += truth[i] * v
		}
		p, q := 1/(1+math.Exp(-at)), 1/(1+math.Exp(-to))
		h.SymRankOne(h, slope(p), mat.NewVecDense(d, x))
		for i, v := range x {
			score[i] += (q - p) * v
		}
	}
	zero := make([]float64, d)
	b := arc(estimate{matrix: h}, point, zero, 0, 0)
	var there, here mat.VecDense
	there.MulVec(b.pull, mat.NewVecDense(d, truth))
	here.MulVec(b.pull, mat.NewVecDense(d, point))
	var line mat.VecDense
	line.MulVec(h, difference(truth, point))
	for i := range d - 1 {
		got := b.truth(truth, zero)*there.AtVec(i) - b.factor(point, zero)*here.AtVec(i)
		straight := line.AtVec(i)
		if math.Abs(got-score[i]) > 0.05*math.Abs(score[i]) {
			t.Errorf("coordinate %d: score %.0f, want %.0f; the chord's is %.0f", i, got, score[i], straight)
		}
	}
}

// TestChordOfScatteredPoints: where noise moves the points of the rounds around the weights, the scores at
// them are less than a curvature says, as over a wider Gaussian. Weights by the chord are .98 to 1.02 times
// as long as the true ones, and more than 1.04 times if points are taken one by one.
func TestChordOfScatteredPoints(t *testing.T) {
	const n, rounds, sd = 5000, 60, 0.25
	r := rand.New(rand.NewPCG(3, 5))
	truth := []float64{0.7, 0.7, -0.7, 0.7, -0.7, -0.7, 0.7, 0.7, -0.3}
	d := len(truth)
	zero := make([]float64, d)
	records := normalRecords(r, n, d)
	h := mat.NewSymDense(d, nil)
	for _, x := range records {
		_, slope := Predicted(x, truth, zero)
		h.SymRankOne(h, slope, mat.NewVecDense(d, x))
	}
	tr := Trace{Prior: 0.01, Noise: mat.NewSymDense(rounds, nil), Records: n, CurvaturePoint: truth,
		CurvatureSpread: zero, Curvature: Curvature{Matrix: h},
		Variance: func([]float64) []float64 { return zero }}
	for s := range rounds {
		tr.Noise.SetSym(s, s, 1e6) // rounds count alike
		point, score := make([]float64, d), make([]float64, d)
		for i, w := range truth {
			point[i] = w + sd*r.NormFloat64()
		}
		for _, x := range records {
			by, _ := Predicted(x, point, zero)
			p, _ := Predicted(x, truth, zero)
			floats.AddScaled(score, p-by, x)
		}
		tr.Points, tr.Scores = append(tr.Points, point), append(tr.Scores, score)
		tr.Spread = append(tr.Spread, zero)
	}
	v, err := tr.view(estimate{matrix: h})
	if err != nil {
		t.Fatal(err)
	}
	length := func(b bend) float64 {
		m, err := tr.along(b, v.at)
		if err != nil {
			t.Fatal(err)
		}
		return floats.Dot(m.Mean, truth) / floats.Dot(truth, truth)
	}
	got, single := length(v.bends[0]), length(chord(h, zero, zero))
	t.Logf("%.3f of the length, %.3f by single points", got, single)
	if math.Abs(got-1) > 0.02 || single < 1.04 {
		t.Errorf("%.3f of the length, %.3f by single points", got, single)
	}
}

// normalRecords are independent normal columns, the last of which is 1.
func normalRecords(r *rand.Rand, n, d int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		x := make([]float64, d)
		for j := range d - 1 {
			x[j] = r.NormFloat64()
		}
		x[d-1] = 1
		out[i] = x
	}
	return out
}

func difference(a, b []float64) *mat.VecDense {
	out := mat.NewVecDense(len(a), nil)
	out.SubVec(mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
	return out
}

// TestArcRunsAway: of 40,000 records of which one in eight is of class zero an arc's factor falls as the
// intercept grows, which grows as it falls. Predictions of weights whose public mean is right are within a
// fifth of it, wherever the intercept of the round was. With arcs that ran away they were up to ten times as
// long.
func TestArcRunsAway(t *testing.T) {
	for _, short := range []float64{0.8, 0.9, 0.95, 1.05} {
		want := append(slices.Clone(slopes[:7]), 2)
		tr, _ := cutWorld(40000, Slices{9, 1e9}, want)
		d := len(want)
		at, score := slices.Clone(want), make([]float64, d)
		at[d-1] *= short
		for i := range score {
			score[i] = tr.Curvature.Matrix.At(i, d-1) * (want[d-1] - at[d-1])
		}
		tr.Public, tr.Points, tr.Scores, tr.Curvature.SD = want, [][]float64{at}, [][]float64{score}, 30
		tr.Variance = func([]float64) []float64 { return slices.Repeat([]float64{1000}, d) }
		m, _, err := tr.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range m.Mean {
			if math.Abs(x/want[i]-1) > 0.2 {
				t.Errorf("%g of the intercept: weights %.2f, want %.2f", short, m.Mean, want)
				break
			}
		}
	}
}

// TestRareInterceptIsKept: of 4,000 records of which one in thirty is of class one noise hides the slopes,
// but not that the class is rare: the intercept, which is right, is kept, and more for logits that are
// uncertain. Where its score at even odds follows from the curvature at the point alone, a sixth is.
func TestRareInterceptIsKept(t *testing.T) {
	want := []float64{0.2, -0.1, 0.1, -0.2, 0.1, -0.1, 0.2, -3.5}
	tr, _ := cutWorld(4000, Slices{9, 1e9}, want)
	d := len(want)
	tr.Public, tr.Curvature.SD = want, 27
	tr.Variance = func([]float64) []float64 { return slices.Repeat([]float64{120 * 120}, d) }
	m, _, err := tr.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	if kept := m.Mean[d-1] / want[d-1]; kept < 0.9 || kept > 1.3 {
		t.Errorf("%.2f of the intercept is kept: %.2f", kept, m.Mean)
	}
}

// TestArcAstray: an arc whose mean predicts far fewer of class one than rounds reveal is astray, a chord near
// their rate is not, and where noise hides the rate nothing is.
func TestArcAstray(t *testing.T) {
	at := revealed{columns: unitColumns(8000, 4), rate: 0.05, doubt: 0.003}
	mean := func(intercept, slope float64) *gauss.Moments {
		return &gauss.Moments{Mean: []float64{slope, slope, slope, intercept}, Variance: make([]float64, 4)}
	}
	chord := mean(-3.6, 1)
	for _, c := range []struct {
		intercept, slope, doubt float64
		astray                  bool
	}{
		{-3.9, 1.1, 0.003, false},
		{-17, 4, 0.003, true},
		{-4, 6, 0.003, true},
		{-17, 4, 0.3, false},
	} {
		at.doubt = c.doubt
		if got := at.astray(chord, mean(c.intercept, c.slope)); got != c.astray {
			t.Errorf("intercept %g, slopes %g, doubt %g: astray is %v", c.intercept, c.slope, c.doubt, got)
		}
	}
	if (&revealed{}).astray(chord, mean(-17, 4)) {
		t.Error("astray without columns")
	}
}

// unitColumns are independent columns of mean 0 and variance 1.
func unitColumns(records float64, d int) *columns {
	c := &columns{records: records, mean: mat.NewVecDense(d, nil), scatter: mat.NewSymDense(d, nil)}
	c.mean.SetVec(d-1, 1)
	for i := range d - 1 {
		c.scatter.SetSym(i, i, 1)
	}
	return c
}
