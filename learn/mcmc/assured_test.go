package mcmc

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestJointOfWeights: the covariance of the mean with the errors of the scores, of the weights, is the
// mean's derivative by their scores times these errors, by differences of the posterior itself. They are
// those of the noise, of sampling, and of a curvature times the way. Of the scores s of the weights those in
// phi are F^-1 s.
func TestJointOfWeights(t *testing.T) {
	const d = 3
	g := &geometry{factor: triangle{d, []float64{3, 0, 0, 1, 2, 0, -1, 0.5, 4}}}
	diagonal := func(v ...float64) *mat.SymDense {
		m := mat.NewSymDense(d, nil)
		for i, x := range v {
			m.SetSym(i, i, x)
		}
		return m
	}
	h := mat.NewSymDense(d, []float64{0.5, 0.1, 0, 0.1, 0.4, -0.1, 0, -0.1, 0.7})
	posterior := func(gradient []float64) (evidence, *approximation, []float64) {
		e := evidence{At: []float64{0.5, -1, 2}, Gradient: gradient, Curvature: h, Noise: 2,
			Prior: diagonal(0.1, 0.2, 0.3)}
		q, err := tracePosterior(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.keep = 1 // as if it didn't depend on the gradient
		w := append([]float64(nil), q.mean...)
		g.factor.solveT(w)
		return e, q, w
	}
	at := []float64{3, -2, 1}
	e, q, w := posterior(at)
	const doubt = 0.3
	joint, noise, err := g.joint(e, q, doubt)
	if err != nil {
		t.Fatal(err)
	}
	slope := mat.NewDense(d, d, nil)
	for j := range d {
		way := make([]float64, d)
		way[j] = 1
		g.factor.solve(way)
		add(way, 1, at)
		_, _, moved := posterior(way)
		for i := range d {
			slope.Set(i, j, moved[i]-w[i])
		}
	}
	var want mat.Dense
	want.Mul(slope, noise)
	if !mat.EqualApprox(joint, &want, 1e-9) {
		t.Errorf("covariance %v, want %v", mat.Formatted(joint), mat.Formatted(&want))
	}
	var whole mat.SymDense
	whole.AddSym(h, diagonal(e.Noise, e.Noise, e.Noise))
	whole.SymRankOne(&whole, doubt*doubt, mat.NewVecDense(d, e.At))
	u := g.factor.mulT(w)
	near(t, "noise", mat.Inner(mat.NewVecDense(d, w), noise, mat.NewVecDense(d, w)),
		mat.Inner(mat.NewVecDense(d, u), &whole, mat.NewVecDense(d, u)), 1e-9)
}

// TestMovedTwice: a mean that was shortened twice counts all of the way, and the prior's variance at most.
func TestMovedTwice(t *testing.T) {
	tr := trace{&base{cfg: Config{PriorPrecision: 1}}}
	p := &Posterior{Mean: []float64{0.1, 0, 3},
		Covariance: mat.NewSymDense(3, []float64{0.5, 0, 0, 0, 0.5, 0, 0, 0, 2})}
	for i, want := range []float64{0.5 + 0.6*0.6, 1, 2} {
		if got := tr.moved(p, []float64{0.7, 5, 9})[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("weight %d: %v, want %v", i, got, want)
		}
	}
}
