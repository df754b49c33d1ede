package model

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
)

func naturalNetwork(copies int, x, y []float64, features int) *neural {
	return newNetwork(Settings{Family: gauss.MeanField, Features: features, Hidden: 3, Samples: 2, Steps: 1,
		LearningRate: 1, Copies: copies, Natural: true, Floor: 1e-3}, x, y)
}

// TestNetworkNewton: where the posterior is all but a point, the derivatives are those of the
// log-likelihood, and the curvatures Gauss and Newton's: from difference quotients of the output, whose
// second derivatives by a single weight are 0 away from kinks, so that only rounding
// is in them, 1e-16/1e-6, and what a standard deviation of 1e-7 moves.
func TestNetworkNewton(t *testing.T) {
	const d, n, hidden = 4, 7, 3
	x, y := records(8, n, d)
	size := hidden*(d+1) + 1
	shape := Settings{Features: d, Hidden: hidden}
	w := make([]float64, size)
	variance := make([]float64, size)
	for i := range w {
		w[i], variance[i] = Uniform(i+40), 1e-14
	}
	for _, copies := range []float64{1, 5} {
		g := make([]float64, size)
		v := make([]float64, size)
		wantG := make([]float64, size)
		wantV := make([]float64, size)
		naturalNetwork(int(copies), x, y, d).newton(NewWorkspace(size, n), g, v, w, variance, 3)
		for r := range n {
			row, h := x[r*d:(r+1)*d], 1e-6
			p := 1 / (1 + math.Exp(-output(shape, w, row)))
			for i := range w {
				up, down := append([]float64(nil), w...), append([]float64(nil), w...)
				up[i], down[i] = w[i]+h, w[i]-h
				slope := (output(shape, up, row) - output(shape, down, row)) / (2 * h)
				wantG[i] += copies * slope * (y[r] - p)
				wantV[i] -= copies * slope * slope * p * (1 - p)
			}
		}
		if !floats.EqualApprox(g, wantG, 1e-5) || !floats.EqualApprox(v, wantV, 1e-5) {
			t.Errorf("%v copies: %v, want %v; %v, want %v", copies, g, wantG, v, wantV)
		}
	}
}

// TestNetworkNaturalGradient: with the same samples, the steps' gradient is the one that the
// other optimisers have, no curvature is the wrong way round, and one step of rate 1 leads to the cavity
// times the factor of both.
func TestNetworkNaturalGradient(t *testing.T) {
	const d, n, hidden = 4, 9, 3
	x, y := records(9, n, d)
	size := hidden*(d+1) + 1
	mean, variance := make([]float64, size), make([]float64, size)
	for i := range mean {
		mean[i], variance[i] = Uniform(i), 0.3+0.2*Uniform(i+100)
	}
	site, ws := naturalNetwork(1, x, y, d), NewWorkspace(size, n)
	g := make([]float64, size)
	v := make([]float64, size)
	plain := make([]float64, size)
	unused := make([]float64, size)
	site.newton(ws, g, v, mean, variance, 77)
	site.gradient(ws, plain, unused, mean, variance, 77)
	if !floats.EqualApprox(g, plain, 1e-12) {
		t.Errorf("gradient %v, want %v", g, plain)
	}
	if floats.Max(v) > 0 || floats.Sum(v) == 0 {
		t.Errorf("curvatures %v, want none above 0 and not all 0", v)
	}
	q, dst := natural(mean, variance), make([]float64, 2*size)
	for i := range size { // as the step gets them back from q
		variance[i] = 1 / (-2 * q[size+i])
		mean[i] = q[i] * variance[i]
	}
	site.newton(ws, g, v, mean, variance, digest(digest(0, mean), variance))
	site.Update(ws, dst, q, q)
	for i := range size {
		if h, p := g[i]-v[i]*mean[i], v[i]/2; math.Abs(dst[i]-h) > 1e-9 || math.Abs(dst[size+i]-p) > 1e-9 {
			t.Errorf("weight %d: %v and %v, want %v and %v", i, dst[i], dst[size+i], h, p)
		}
	}
}

// TestNetworkNaturalStaysFinite: an improper cavity and an empty shard give finite numbers
// only, and an empty shard's optimum is its cavity.
func TestNetworkNaturalStaysFinite(t *testing.T) {
	const d, n, hidden = 4, 9, 3
	x, y := records(7, n, d)
	size := hidden*(d+1) + 1
	q := make([]float64, 2*size)
	cavity := make([]float64, 2*size)
	dst := make([]float64, 2*size)
	for i := range size {
		q[size+i] = -1
		cavity[i] = 3
		cavity[size+i] = 2
	}
	naturalNetwork(1, x, y, d).Update(NewWorkspace(size, n), dst, q, cavity)
	for i, v := range dst {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("coordinate %d is %v", i, v)
		}
	}
	naturalNetwork(1, nil, nil, d).Update(NewWorkspace(size, 0), dst, q, cavity)
	floats.Add(dst, q)
	if !floats.EqualApprox(dst, cavity, 1e-12) {
		t.Errorf("an empty shard wants %v, its cavity is %v", dst, cavity)
	}
}
