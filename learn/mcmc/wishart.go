package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/internal/ellipse"
)

// wishart is a law of curvatures before their measurement: that of sums of products of d normal numbers
// ([Wishart28]). Its eigenvalues keep away from 0, where those of the Gaussian with the same moments go
// below.
type wishart struct {
	mean, inverse *mat.SymDense // d x d, positive definite
	degrees       float64       // of freedom, d + 1 at least
	spread        float64       // variance of an entry on the diagonal, where the mean is 1 on average
}

// random are the public coins, or a test's.
type random interface {
	normal() float64
	uniform() float64
}

// sliceSteps is the number of steps by which a draw forgets where it began: after 8 the mean of H^-2 is
// within .08 of that after 128 in four worlds of 15 to 60 columns whose curvature noise hides.
const sliceSteps = 8

// newWishart returns the law with this mean, of size m on the diagonal. A spread above that of d + 1 degrees
// of freedom, whose density is bounded, counts as that.
func newWishart(mean *mat.SymDense, m, spread float64) (wishart, error) {
	d := mean.SymmetricDim()
	spread = min(spread, 2*m*m/float64(d+1))
	w := wishart{mean: mean, inverse: mat.NewSymDense(d, nil), degrees: 2 * m * m / spread, spread: spread}
	var chol mat.Cholesky
	if !chol.Factorize(mean) || chol.InverseTo(w.inverse) != nil {
		return w, fmt.Errorf("mean of curvatures: %w", ErrSingular)
	}
	return w, nil
}

// against is the logarithm of the density at h over that of the symmetric Gaussian matrix with this mean and
// spread, up to a constant; minus infinity where h isn't positive definite.
func (w wishart) against(h *mat.SymDense) float64 {
	var chol mat.Cholesky
	if !chol.Factorize(h) {
		return math.Inf(-1)
	}
	d := h.SymmetricDim()
	l := (w.degrees - float64(d) - 1) / 2 * chol.LogDet()
	for i := range d {
		for j := i; j < d; j++ {
			times := 2.
			if i == j {
				times = 1
			}
			away := h.At(i, j) - w.mean.At(i, j)
			l += times * (away*away/(2*w.spread) - w.degrees/2*w.inverse.At(i, j)*h.At(i, j))
		}
	}
	return l
}

// given draws a matrix of the law, given its measurement with an error of this variance on the diagonal, half
// of it off the diagonal, independently. Steps of elliptical slice sampling ([MAM10]) are for the Gaussian
// with the law's mean and spread, given the measurement, and the ratio against. Errors: ErrSingular.
func (w wishart) given(measured *mat.SymDense, noise float64, r random) (*mat.SymDense, error) {
	d := measured.SymmetricDim()
	keep := w.spread / (w.spread + noise)
	h := mat.NewSymDense(d, nil)
	each := func(do func(k, i, j int, centre, sd float64)) {
		k := 0
		for i := range d {
			for j := i; j < d; j++ {
				sd := math.Sqrt(keep * noise / 2)
				if i == j {
					sd = math.Sqrt(keep * noise)
				}
				do(k, i, j, keep*measured.At(i, j)+(1-keep)*w.mean.At(i, j), sd)
				k++
			}
		}
	}
	place := func(x []float64) {
		each(func(k, i, j int, centre, sd float64) { h.SetSym(i, j, centre+sd*x[k]) })
	}
	x := normals(make([]float64, d*(d+1)/2), r)
	place(x)
	start, err := bounded(h)
	if err != nil {
		return nil, err
	}
	each(func(k, i, j int, centre, sd float64) { x[k] = (start.At(i, j) - centre) / sd })
	weight := func(x []float64) float64 {
		place(x)
		return w.against(h)
	}
	other, next := make([]float64, len(x)), make([]float64, len(x))
	for now, step := weight(x), 0; step < sliceSteps; step++ {
		now = ellipse.Step(x, normals(other, r), next, now, weight, r.uniform)
	}
	place(x)
	return h, nil
}

// normals fills v with standard normal numbers.
func normals(v []float64, r random) []float64 {
	for i := range v {
		v[i] = r.normal()
	}
	return v
}
