package quality

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// newtonSteps are enough for any of the worlds.
const newtonSteps = 25

// NonPrivate is the mean standard deviation under the posterior of all rows in one place, with
// the prior N(0, I) and without noise: Laplace's approximation at the maximum, exact for the linear model,
// whose residuals have the standard deviation noiseSD.
func NonPrivate(d bayes.Data, features int, linear bool, noiseSD float64) (float64, error) {
	m := make([]float64, features)
	for range newtonSteps {
		h, g := derivatives(d, m, linear, noiseSD)
		var c mat.Cholesky
		if !c.Factorize(h) {
			return 0, fmt.Errorf("reference: %w", gauss.ErrImproper)
		}
		var step mat.VecDense
		if err := c.SolveVecTo(&step, mat.NewVecDense(features, g)); err != nil {
			return 0, err
		}
		for j := range m {
			m[j] += step.AtVec(j)
		}
		if mat.Norm(&step, 2) < 1e-9 {
			return meanSD(&c, features)
		}
	}
	return 0, fmt.Errorf("reference: no maximum after %d steps", newtonSteps)
}

// derivatives are the gradient of the log posterior at the weights m and its curvature, negated. Most
// columns of categories are 0, and are passed over.
func derivatives(d bayes.Data, m []float64, linear bool, noiseSD float64) (*mat.SymDense, []float64) {
	n := len(m)
	h, g := mat.NewSymDense(n, nil), make([]float64, n)
	entries := h.RawSymmetric().Data // of the upper triangle, by row
	for j, v := range m {
		g[j] = -v
		entries[j*n+j] = 1
	}
	used := make([]int, 0, n)
	for i, y := range d.Y {
		x := d.X[i*n : (i+1)*n]
		used = used[:0]
		a := 0.0
		for j, v := range x {
			if v != 0 {
				a += v * m[j]
				used = append(used, j)
			}
		}
		weight := 1 / (noiseSD * noiseSD)
		r := (y - a) * weight
		if !linear {
			p := 1 / (1 + math.Exp(-a))
			r, weight = y-p, p*(1-p)
		}
		for k, j := range used {
			g[j] += r * x[j]
			for _, l := range used[k:] {
				entries[j*n+l] += weight * x[j] * x[l]
			}
		}
	}
	return h, g
}

func meanSD(c *mat.Cholesky, n int) (float64, error) {
	var covariance mat.SymDense
	if err := c.InverseTo(&covariance); err != nil {
		return 0, err
	}
	sum := 0.0
	for j := range n {
		sum += math.Sqrt(covariance.At(j, j)) / float64(n)
	}
	return sum, nil
}
