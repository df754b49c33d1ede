package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// TestScore: the gradient and the curvature are the derivatives of the log-likelihood.
func TestScore(t *testing.T) {
	const d, n, step = 3, 12, 1e-5
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for i := range y {
		y[i] = float64(r.IntN(2))
	}
	at := []float64{0.3, -0.8, 0.5}
	for _, tc := range []struct {
		name string
		site Scored
		like func(a, y float64) float64
	}{
		{"logistic", NewLogistic(d, x, y, 1, 1), func(a, y float64) float64 {
			return y*a - math.Log1p(math.Exp(a))
		}},
		{"linear", newLinear(gauss.Space{Family: gauss.MeanField, Features: d}, x, y, 0.5, 1),
			func(a, y float64) float64 { return -2 * (y - a) * (y - a) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := func(w []float64) float64 {
				sum := 0.0
				for i, v := range y {
					a := 0.0
					for j := range d {
						a += x[i*d+j] * w[j]
					}
					sum += tc.like(a, v)
				}
				return sum
			}
			ws := NewWorkspace(d, n)
			g, h := make([]float64, d), mat.NewSymDense(d, nil)
			up, down := make([]float64, d), make([]float64, d)
			scratch := mat.NewSymDense(d, nil)
			tc.site.Score(ws, g, h, at)
			for j := range d {
				more, less := append([]float64(nil), at...), append([]float64(nil), at...)
				more[j] += step
				less[j] -= step
				if want := (all(more) - all(less)) / (2 * step); math.Abs(g[j]-want) > 1e-4 {
					t.Errorf("gradient %d is %v, want %v", j, g[j], want)
				}
				tc.site.Score(ws, up, scratch, more)
				tc.site.Score(ws, down, scratch, less)
				for i := range d {
					if want := (down[i] - up[i]) / (2 * step); math.Abs(h.At(i, j)-want) > 1e-4 {
						t.Errorf("curvature %d, %d is %v, want %v", i, j, h.At(i, j), want)
					}
				}
			}
		})
	}
}
