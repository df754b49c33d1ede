package noiseaware

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware/internal/logistic"
)

// shownOf is what curvature rounds show of a record: every slice of the list of entries of c x x', those off
// the diagonal times the square root of 2, is scaled to the bound if it is longer.
func shownOf(s Slices, c float64, x []float64) *mat.SymDense {
	d := len(x)
	var list []float64
	for i := range d {
		for j := i; j < d; j++ {
			list = append(list, c*x[i]*x[j]*math.Sqrt2)
		}
		list[len(list)-d+i] /= math.Sqrt2
	}
	for part := range slices.Chunk(list, s.Size) {
		if n := floats.Norm(part, 2); n > s.Bound {
			floats.Scale(s.Bound/n, part)
		}
	}
	out := mat.NewSymDense(d, nil)
	at := 0
	for i := range d {
		out.SetSym(i, i, list[at])
		at++
		for j := i + 1; j < d; j++ {
			out.SetSym(i, j, list[at]/math.Sqrt2)
			at++
		}
	}
	return out
}

// TestTaken: what rounds show of a record and what clips take add up to its curvature, for slices that end in
// rows, at their ends and after the last entry, and for bounds that clip none, some and all of them.
func TestTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{1.3, -0.4, 2.2, 0.7, 1}
	for _, size := range []int{1, 4, 5, 10, 15, 99} {
		for _, bound := range []float64{0.01, 0.5, 100} {
			c := 0.25 * r.Float64()
			got := shownOf(Slices{size, bound}, c, x)
			Slices{size, bound}.Taken(got, c, x)
			var want mat.SymDense
			want.SymOuterK(c, mat.NewDense(len(x), 1, x))
			if !mat.EqualApprox(got, &want, 1e-12) {
				t.Errorf("slices of %d, bound %v: %v, want %v", size, bound, mat.Formatted(got),
					mat.Formatted(&want))
			}
		}
	}
}

// cutWorld is a trace at a point of n records with normal columns, correlated by .4, whose curvature was
// clipped, and the whole curvature.
func cutWorld(n int, terms Slices, point []float64) (Trace, *mat.SymDense) {
	r := rand.New(rand.NewPCG(3, 4))
	d := len(point)
	shown, whole := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for range n {
		x := make([]float64, d)
		x[d-1] = 1
		for i := range d - 1 {
			x[i] = r.NormFloat64()
			if i > 0 {
				x[i] = 0.4*x[i-1] + math.Sqrt(1-0.4*0.4)*x[i]
			}
		}
		p := 1 / (1 + math.Exp(-floats.Dot(x, point)))
		shown.AddSym(shown, shownOf(terms, p*(1-p), x))
		whole.SymRankOne(whole, p*(1-p), mat.NewVecDense(d, x))
	}
	return traceAt(n, terms, point, Curvature{Matrix: shown}, 100), whole
}

// traceAt is one round at a point, whose scores are 0 and whose noise has this variance, of n records with a
// curvature there.
func traceAt(n int, terms Slices, point []float64, shown Curvature, variance float64) Trace {
	zero := func() []float64 { return make([]float64, len(point)) }
	return Trace{Prior: 1, Points: [][]float64{point}, Scores: [][]float64{zero()},
		Noise: mat.NewSymDense(1, nil), Spread: [][]float64{zero()}, CurvaturePoint: point,
		CurvatureSpread: zero(), Records: float64(n), Curvature: shown, Terms: &terms,
		Variance: func([]float64) []float64 { return slices.Repeat([]float64{variance}, len(point)) }}
}

// slopes are seven slopes and an intercept.
var slopes = []float64{0.6, -0.4, 0.3, -0.5, 0.4, -0.3, 0.5, -0.5}

// TestUnclipped: clips take a seventh of a curvature's trace. With what they have taken it is right to 2 %,
// and the matrix is less than half as far from the whole one.
func TestUnclipped(t *testing.T) {
	tr, want := cutWorld(20000, Slices{9, 1.2}, slopes)
	h, err := tr.Curvature.repaired()
	if err != nil {
		t.Fatal(err)
	}
	v, err := tr.unclipped(h)
	if err != nil {
		t.Fatal(err)
	}
	got := v.at.curvature.matrix
	before, after := mat.Trace(h.matrix)/mat.Trace(want), mat.Trace(got)/mat.Trace(want)
	far := func(m *mat.SymDense) float64 {
		var e mat.Dense
		e.Sub(m, want)
		return mat.Norm(&e, 2)
	}
	if before > 0.88 || math.Abs(after-1) > 0.02 || far(got) > far(h.matrix)/2 {
		t.Errorf("trace %.3f of the true one before and %.3f after, distance %.0f and %.0f", before, after,
			far(h.matrix), far(got))
	}
}

// TestUnclippedLeavesPredictions: slopes of single weights go by the curvature with what clips have taken,
// and the intercept and predictions by the one that is shown.
func TestUnclippedLeavesPredictions(t *testing.T) {
	tr, _ := cutWorld(2000, Slices{9, 1.2}, slopes)
	tr.Public = slopes
	tr.Curvature.SD = 5
	m, single, err := tr.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	tr.Terms = nil
	without, wide, err := tr.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Mean, without.Mean) || !mat.Equal(m.Covariance, without.Covariance) {
		t.Errorf("predictions %v with the terms, %v without", m.Mean, without.Mean)
	}
	last := len(slopes) - 1
	if single.Mean[last] != wide.Mean[last] || single.Variance[last] != wide.Variance[last] {
		t.Errorf("intercept %v with the terms, %v without", single.Mean[last], wide.Mean[last])
	}
	if floats.Sum(single.Variance) >= floats.Sum(wide.Variance) {
		t.Errorf("variances %v with the terms, %v without", single.Variance, wide.Variance)
	}
}

// TestAlong: the length along the point of a noisy curvature that dips there is right on average over noise,
// within four standard errors (6 of 100,000 sets of draws are not), and that of the repaired matrix is not
// within twelve. It is four of its standard deviations from 0, and so hardly cut.
func TestAlong(t *testing.T) {
	const d, n, sd, draws = 20, 2000.0, 60.0, 100
	r := rand.New(rand.NewPCG(5, 6))
	w := mat.NewVecDense(d, nil)
	for i := range d - 1 {
		w.SetVec(i, 0.5)
	}
	h := autoregression(d, 0.4, n)
	hw := mat.NewVecDense(d, nil)
	hw.MulVec(h, w)
	h.SymRankOne(h, -1/(n*logistic.Probit+mat.Dot(hw, w)), hw)
	want := mat.Inner(w, h, w) / n
	raw, repaired := 0.0, 0.0
	for range draws {
		noisy := mat.NewSymDense(d, nil)
		for i := range d {
			noisy.SetSym(i, i, h.At(i, i)+math.Sqrt2*sd*r.NormFloat64())
			for j := range i {
				noisy.SetSym(i, j, h.At(i, j)+sd*r.NormFloat64())
			}
		}
		c := Curvature{noisy, sd}
		e, err := c.repaired()
		if err != nil {
			t.Fatal(err)
		}
		repaired += e.along(w, n, 0, 1e6) / draws
		e.raw = &c
		raw += e.along(w, n, 0, 10*want) / draws
	}
	se := math.Sqrt2 * sd * mat.Dot(w, w) / n / math.Sqrt(draws)
	if math.Abs(raw-want) > 4*se || math.Abs(repaired-want) < 12*se || want < 40*se {
		t.Errorf("%.3f, repaired %.3f, want %.3f, standard error %.3f", raw, repaired, want, se)
	}
}

// TestUnclippedOfLevels: a rare class's logits are those of an intercept and of three categories' levels,
// which aren't normal: drawn records have long logits, and most of the curvature that drawn records have
// would seem to be taken by clips. What clips have taken of the true records is next to nothing, and the
// trace stays within a third of what noise leaves of it. Before the intercept's entry counted it was twenty
// times as large.
func TestUnclippedOfLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n, sd = 8000, 21
	sizes := []int{2, 4, 8}
	point := slices.Repeat([]float64{-1.2}, 15)
	d := len(point)
	terms := Slices{9, 0.4}
	shown := mat.NewSymDense(d, nil)
	for range n {
		x := make([]float64, d)
		at := 0
		for _, k := range sizes {
			x[at+min(r.IntN(k), r.IntN(k))] = 1
			at += k
		}
		x[d-1] = 1
		p := 1 / (1 + math.Exp(-floats.Dot(x, point)))
		shown.AddSym(shown, shownOf(terms, p*(1-p), x))
	}
	for i := range d {
		for j := i; j < d; j++ {
			shown.SetSym(i, j, shown.At(i, j)+sd*r.NormFloat64())
		}
	}
	tr := traceAt(n, terms, point, Curvature{shown, sd}, 600)
	h, err := tr.Curvature.repaired()
	if err != nil {
		t.Fatal(err)
	}
	v, err := tr.unclipped(h)
	if err != nil {
		t.Fatal(err)
	}
	before, after := mat.Trace(h.matrix), mat.Trace(v.at.curvature.matrix)
	if math.Abs(after/before-1) > 1./3 {
		t.Errorf("the curvature's trace is %.0f, and %.0f with what clips are said to have taken", before, after)
	}
}
