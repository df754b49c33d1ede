package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestJointOfWeights: the covariances of the mean with the noise add up to the same in the coordinates phi
// and of the weights, and the noise of a combination of scores is that of the same one in phi.
func TestJointOfWeights(t *testing.T) {
	const d = 3
	g := &geometry{factor: triangle{d, []float64{3, 0, 0, 1, 2, 0, -1, 0.5, 4}}}
	one := func(v float64) *mat.SymDense {
		m := mat.NewSymDense(d, nil)
		for i := range d {
			m.SetSym(i, i, v)
		}
		return m
	}
	e := evidence{At: make([]float64, d), Gradient: []float64{3, -2, 1}, Curvature: one(0.5), Noise: one(2),
		Prior: one(0.1)}
	q, err := tracePosterior(e, rand.New(rand.NewPCG(1, 2)).NormFloat64)
	if err != nil {
		t.Fatal(err)
	}
	q.keep = 1 // as if it didn't depend on the gradient
	joint, noise, err := g.joint(e, q)
	if err != nil {
		t.Fatal(err)
	}
	// Scatter and noise are 2.5, and the mean is 0.5/2.5 of the gradient over the precision 0.1 + 0.25/2.5.
	near(t, "covariance", mat.Trace(joint), d*(0.5/2.5)/(0.1+0.25/2.5)*2.5, 1e-9)
	w := mat.NewVecDense(d, []float64{1, -2, 0.5})
	phi := g.factor.mulT(w.RawVector().Data)
	near(t, "noise", mat.Inner(w, noise, w), 2.5*dot(phi, phi), 1e-9)
	if math.Abs(mat.Det(noise)) < 1e-9 {
		t.Error("noise has no rank")
	}
}
