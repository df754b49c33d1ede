package model

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

func naturalSite(d, steps int, rate float64, x, y []float64) *Logistic {
	l := NewLogistic(d, x, y, steps, rate)
	l.floor = 1e-3
	return l
}

// TestNaturalEndsWhereTheGradientIsZero: a fixed point of the natural-gradient steps is a
// stationary point of the local free energy, whose gradient is Gradient's formula in other
// coordinates. A thousand steps of rate .2 contract a distance of 1 to far below 1e-9.
func TestNaturalEndsWhereTheGradientIsZero(t *testing.T) {
	const d, n = 4, 30
	x, y := records(5, n, d)
	ws := NewWorkspace(d, n)
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.SliceOfN(rapid.Float64Range(-1, 1), d, d).Draw(t, "mean")
		variance := rapid.SliceOfN(rapid.Float64Range(0.2, 2), d, d).Draw(t, "variance")
		q := natural(mean, variance)
		dst := make([]float64, 2*d)
		naturalSite(d, 1000, 0.2, x, y).Update(ws, dst, q, q)
		floats.Add(dst, q)
		m, v := moments(dst)
		gMean, gLogSD := make([]float64, d), make([]float64, d)
		NewLogistic(d, x, y, 1, 0.1).Gradient(ws, gMean, gLogSD, m, v, q)
		if g := math.Max(floats.Norm(gMean, math.Inf(1)), floats.Norm(gLogSD, math.Inf(1))); !(g < 1e-9) {
			t.Errorf("gradient %v at the fixed point", g)
		}
	})
}

// TestNaturalStepIsTheGaussianFactor: one step of rate 1 gives the cavity times, for every
// record, the second-order expansion of its expected log-likelihood: worked out here
// record by record, with the mean of the sigmoid as a difference quotient of
// expectSoftplus (error below h^2/6 and 1e-8/h, hence 1e-5 for h = 1e-3).
func TestNaturalStepIsTheGaussianFactor(t *testing.T) {
	const d, n = 3, 2
	x, y := records(6, n, d)
	ws := NewWorkspace(d, n)
	mean, variance := []float64{0.3, -0.7, 0.2}, []float64{0.4, 0.9, 0.1}
	q, cavity := natural(mean, variance), []float64{0.1, 0.2, 0.3, -0.4, -0.5, -0.6}
	dst := make([]float64, 2*d)
	naturalSite(d, 1, 1, x, y).Update(ws, dst, q, cavity)
	want := make([]float64, 2*d)
	floats.SubTo(want, cavity, q)
	for r := range n {
		row := x[r*d : (r+1)*d]
		var mu, v float64
		for i, xi := range row {
			mu += xi * mean[i]
			v += xi * xi * variance[i]
		}
		const h = 1e-3
		p := (expectSoftplus(mu+h, v) - expectSoftplus(mu-h, v)) / (2 * h)
		_, slope := sigmoidMoments(mu, v)
		for i, xi := range row {
			want[i] += xi*(y[r]-p) + slope*xi*xi*mean[i]
			want[d+i] -= slope * xi * xi / 2
		}
	}
	if !floats.EqualApprox(dst, want, 1e-4) {
		t.Errorf("%v, want %v", dst, want)
	}
}

// TestNaturalStaysFinite: an improper cavity and an empty shard give finite numbers only,
// and an empty shard's optimum is its cavity.
func TestNaturalStaysFinite(t *testing.T) {
	const d, n = 4, 9
	x, y := records(7, n, d)
	ws := NewWorkspace(d, n)
	rapid.Check(t, func(t *rapid.T) {
		cavity, dst := cavityGen(d).Draw(t, "cavity"), make([]float64, 2*d)
		q := natural(make([]float64, d), []float64{1, 1, 1, 1})
		naturalSite(d, 50, 1, x, y).Update(ws, dst, q, cavity)
		for _, v := range dst {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%v", dst)
			}
		}
		naturalSite(d, 1, 1, nil, nil).Update(ws, dst, q, cavity)
		floats.Add(dst, q)
		if !floats.EqualApprox(dst, cavity, 1e-12) {
			t.Errorf("an empty shard wants %v with the cavity %v", dst, cavity)
		}
	})
}
