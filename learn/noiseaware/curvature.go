package noiseaware

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// Curvature is a noisy symmetric matrix that is known to be positive semidefinite without
// its noise.
type Curvature struct {
	Matrix *mat.SymDense
	SD     float64 // standard deviation of the noise on an entry above the diagonal
}

// estimate is a curvature whose noise was taken out as far as possible.
type estimate struct {
	matrix *mat.SymDense
	noise  float64    // variance of what is left on an entry
	raw    *Curvature // with all of its noise; nil: the matrix also tells its length along a point
}

// repaired returns the rotation-invariant estimate of the matrix. Noise spreads the
// eigenvalues: of those l_i of the noisy matrix, with noise of variance s^2 on an entry, the
// best estimate with the same eigenvectors has
//
//	l_i - 2 s^2 sum_j (l_i - l_j) / ((l_i - l_j)^2 + s^2)
//
// ([BABP16], for additive Gaussian noise; s^2 regularises the sum at the spacing of the
// eigenvalues). What is left of each below its own noise is the mean of a normal truncated
// at 0.
func (c Curvature) repaired() (estimate, error) {
	d := c.Matrix.SymmetricDim()
	var eigen mat.EigenSym
	if !eigen.Factorize(c.Matrix, true) {
		return estimate{}, fmt.Errorf("the curvature's eigenvalues do not converge: %w", gauss.ErrImproper)
	}
	noisy := eigen.Values(nil)
	if c.SD == 0 {
		for i := range noisy {
			noisy[i] = max(noisy[i], 0)
		}
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := c.shrunk(noisy)
	out := estimate{matrix: mat.NewSymDense(d, nil), noise: c.SD * c.SD * slope(noisy, values)}
	column := mat.NewVecDense(d, nil)
	for i, v := range values {
		column.CopyVec(vectors.ColView(i))
		out.matrix.SymRankOne(out.matrix, positive(v, c.SD), column)
	}
	return out, nil
}

// clear reports whether eigenvalues of the noise, as a root mean square, are below the mean one.
func (c Curvature) clear() bool {
	d := float64(c.Matrix.SymmetricDim())
	return c.SD*math.Sqrt(d) < mat.Trace(c.Matrix)/d
}

// along is w'H w/n - less, from 0 to top. Along a w that does not depend on the noise the noisy matrix is
// right on average, and what is known of the value is a normal law between 0 and top: it is its mean. The
// repaired matrix has of a direction whose value is below the noise what other directions have.
func (e estimate) along(w *mat.VecDense, n, less, top float64) float64 {
	if e.raw == nil {
		return min(max(mat.Inner(w, e.matrix, w)/n-less, 0), top)
	}
	sd := math.Sqrt2 * e.raw.SD * mat.Dot(w, w) / n
	mean, _ := share((mat.Inner(w, e.raw.Matrix, w)/n-less)/top, sd/top)
	return top * mean
}

// Repaired returns the matrix without its noise as far as that can be told; it is positive semidefinite.
// Errors: gauss.ErrImproper.
func (c Curvature) Repaired() (*mat.SymDense, error) {
	e, err := c.repaired()
	return e.matrix, err
}

func (c Curvature) shrunk(noisy []float64) []float64 {
	out := make([]float64, len(noisy))
	s2 := c.SD * c.SD
	for i, l := range noisy {
		out[i] = l
		for j, other := range noisy {
			if j != i && s2 > 0 {
				out[i] -= 2 * s2 * (l - other) / ((l-other)*(l-other) + s2)
			}
		}
	}
	return out
}

// slope is the regression coefficient of the estimates on the noisy values, in [0, 1]: the
// share of the noise that the estimate keeps.
func slope(noisy, values []float64) float64 {
	n := float64(len(noisy))
	if n < 2 {
		return 1
	}
	var x, y, xy, xx float64
	for i, l := range noisy {
		x += l / n
		y += values[i] / n
	}
	for i, l := range noisy {
		xy += (l - x) * (values[i] - y)
		xx += (l - x) * (l - x)
	}
	if xx == 0 {
		return 1
	}
	return min(max(xy/xx, 0), 1)
}

// error adds to the scores' variance that of the curvature's error times the way to the weights,
// given the mean squares of its coordinates.
func (e estimate) error(variance, away []float64) []float64 {
	length := 0.0
	for _, x := range away {
		length += x
	}
	out := make([]float64, len(variance))
	for i, v := range variance {
		out[i] = v + e.noise*(length+away[i])
	}
	return out
}

// positive is E[p | p + e = x, p >= 0] for e ~ N(0, s^2) and a flat prior.
func positive(x, s float64) float64 {
	if s == 0 {
		return max(x, 0)
	}
	r := x / s
	if r < -20 {
		return -s / r // the tail's mean, by its asymptotic series
	}
	return x + s*math.Exp(-r*r/2)/(math.Sqrt(math.Pi/2)*math.Erfc(-r/math.Sqrt2))
}
