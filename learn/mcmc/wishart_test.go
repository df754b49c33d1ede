package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// dice are draws of a test.
type dice struct{ *rand.Rand }

func (d dice) normal() float64  { return d.NormFloat64() }
func (d dice) uniform() float64 { return d.Float64() }

// TestWishartOfOne: of one column the law is a gamma law, and given a measurement its mean and standard
// deviation are those of the product of the two densities, by sums over a grid. 4,000 draws have a standard
// error of .016 standard deviations in the mean, and .011 in the standard deviation: outside of four of them
// is one run of ten thousand.
func TestWishartOfOne(t *testing.T) {
	const mean, spread, noise, measured = 0.3, 0.03, 0.02, 0.05
	one := func(v float64) *mat.SymDense { return mat.NewSymDense(1, []float64{v}) }
	w, err := newWishart(one(mean), mean, spread)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "degrees of freedom", w.degrees, 6, 1e-12)
	var mass, first, second float64
	for x := 0.0005; x < 3; x += 0.001 {
		p := math.Exp(2*math.Log(x) - 3*x/mean - (x-measured)*(x-measured)/(2*noise))
		mass, first, second = mass+p, first+p*x, second+p*x*x
	}
	first /= mass
	sd := math.Sqrt(second/mass - first*first)
	r := dice{rand.New(rand.NewPCG(21, 22))}
	const draws = 4000
	var sum, square float64
	for range draws {
		h, err := w.given(one(measured), noise, r)
		if err != nil {
			t.Fatal(err)
		}
		x := h.At(0, 0) - first
		sum, square = sum+x/draws, square+x*x/draws
	}
	if math.Abs(sum) > 4*0.016*sd || math.Abs(math.Sqrt(square)/sd-1) > 4*0.011 {
		t.Errorf("mean %.4f, want %.4f; standard deviation %.4f, want %.4f", first+sum, first,
			math.Sqrt(square), sd)
	}
}

// TestWishartIsRanked: a matrix of the law, measured with noise, is as likely to be anywhere among draws
// given its measurement: by its least eigenvalue, on which the width of intervals hangs most, it is below
// half of them in half of the worlds. Of 600 the share has a standard error of .02, and is off by .08 in one
// run of ten thousand. By the Gaussian of the same moments it is below in few.
func TestWishartIsRanked(t *testing.T) {
	const d, spread, noise, worlds, draws = 5, 0.012, 0.01, 600, 15
	r := dice{rand.New(rand.NewPCG(23, 24))}
	mean := mat.NewSymDense(d, nil)
	for i := range d {
		mean.SetSym(i, i, 0.4)
	}
	w, err := newWishart(mean, 0.4, spread)
	if err != nil {
		t.Fatal(err)
	}
	least := func(h *mat.SymDense) float64 {
		var eigen mat.EigenSym
		if !eigen.Factorize(h, false) {
			t.Fatal(ErrSingular)
		}
		return eigen.Values(nil)[0]
	}
	var below, gaussian float64
	for range worlds {
		truth := drawnWishart(w, r)
		measured := gaussianMatrix(d, noise, r)
		measured.AddSym(measured, truth)
		over, by := 0, 0
		for range draws {
			h, err := w.given(measured, noise, r)
			if err != nil {
				t.Fatal(err)
			}
			if least(h) > least(truth) {
				over++
			}
			g := gaussianMatrix(d, spread/(spread+noise)*noise, r)
			for i := range d {
				for j := i; j < d; j++ {
					g.SetSym(i, j, g.At(i, j)+(spread*measured.At(i, j)+noise*mean.At(i, j))/(spread+noise))
				}
			}
			if least(g) > least(truth) {
				by++
			}
		}
		if over > draws/2 {
			below += 1. / worlds
		}
		if by > draws/2 {
			gaussian += 1. / worlds
		}
	}
	if math.Abs(below-0.5) > 0.08 || gaussian > 0.4 {
		t.Errorf("below half of the draws in %.3f of worlds, and by the Gaussian in %.3f", below, gaussian)
	}
}

// drawnWishart is a sum of products of normal numbers, with about as many terms as degrees of freedom.
func drawnWishart(w wishart, r random) *mat.SymDense {
	d := w.mean.SymmetricDim()
	out := mat.NewSymDense(d, nil)
	n := math.Round(w.degrees)
	for range int(n) {
		v := make([]float64, d)
		for i := range v {
			v[i] = math.Sqrt(w.mean.At(i, i)) * r.normal()
		}
		out.SymRankOne(out, 1/n, mat.NewVecDense(d, v))
	}
	return out
}

// gaussianMatrix is symmetric with independent normal entries, of this variance on the diagonal and half of
// it elsewhere.
func gaussianMatrix(d int, variance float64, r random) *mat.SymDense {
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			sd := math.Sqrt(variance / 2)
			if i == j {
				sd = math.Sqrt(variance)
			}
			out.SetSym(i, j, sd*r.normal())
		}
	}
	return out
}
