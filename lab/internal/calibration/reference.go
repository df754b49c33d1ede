package calibration

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"choir/lab/experiment"
	"choir/learn/gauss"
	"choir/learn/model"
	"choir/learn/pvi"
)

// noiseSD is that of the linear worlds' residuals.
const noiseSD = 0.5

// newtonSteps are enough for any of the worlds.
const newtonSteps = 25

// nonPrivate is the mean standard deviation under the posterior of all rows in one place,
// without noise: Laplace's approximation at the maximum, exact for the linear model.
func nonPrivate(d pvi.Data, features int, linear bool, noiseSD float64) (float64, error) {
	m, zero := make([]float64, features), make([]float64, features)
	entries := make([]float64, features*(features+1)/2)
	ws := model.NewWorkspace(features, d.Rows())
	var site model.Curved = model.NewLogistic(features, d.X, d.Y, 1, 1)
	if linear {
		space := gauss.Space{Family: gauss.MeanField, Features: features}
		site = model.NewLinear(space, d.X, d.Y, noiseSD, 1)
	}
	for range newtonSteps {
		site.Curvature(ws, entries, 0, m, zero)
		h := withPrior(entries, features)
		var c mat.Cholesky
		if !c.Factorize(h) {
			return 0, fmt.Errorf("reference: %w", gauss.ErrImproper)
		}
		var step mat.VecDense
		if err := c.SolveVecTo(&step, mat.NewVecDense(features, gradient(d, m, linear, noiseSD))); err != nil {
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

// gradient of the log posterior at the weights m.
func gradient(d pvi.Data, m []float64, linear bool, noiseSD float64) []float64 {
	n := len(m)
	out := make([]float64, n)
	for j, v := range m {
		out[j] = -v
	}
	for i, y := range d.Y {
		x := d.X[i*n : (i+1)*n]
		a := 0.0
		for j, v := range x {
			a += v * m[j]
		}
		r := (y - a) / (noiseSD * noiseSD)
		if !linear {
			r = y - 1/(1+math.Exp(-a))
		}
		for j, v := range x {
			out[j] += r * v
		}
	}
	return out
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

// withPrior is the matrix of a curvature's entries and a prior of precision 1.
func withPrior(entries []float64, d int) *mat.SymDense {
	m := mat.NewSymDense(d, nil)
	at := 0
	for i := range d {
		m.SetSym(i, i, 1+entries[at])
		at++
		for j := i + 1; j < d; j++ {
			m.SetSym(i, j, entries[at]/math.Sqrt2)
			at++
		}
	}
	return m
}

// reference adds the log-likelihoods that need no learning.
func (t *tally) reference(d *experiment.Data) error {
	n := d.Schema.Dim()
	like := pvi.Likelihood{Model: t.world.model(), Family: gauss.MeanField, Features: n}
	if t.world.Linear {
		like.NoiseSD = noiseSD
	}
	natural := make([]float64, 2*n)
	floats.AddConst(-0.5, natural[n:]) // N(0, I)
	q, err := like.Posterior(natural)
	if err != nil {
		return err
	}
	s, err := q.Evaluate(d.Test)
	if err != nil {
		return err
	}
	t.prior = append(t.prior, s.LogLikelihood)
	mean, variance := stat.PopMeanVariance(d.Train.Y, nil)
	rows := float64(d.Test.Rows())
	ll := 0.0
	for _, y := range d.Test.Y {
		switch {
		case t.world.Linear:
			ll -= (math.Log(2*math.Pi*variance) + (y-mean)*(y-mean)/variance) / (2 * rows)
		default:
			ll += (y*math.Log(mean) + (1-y)*math.Log1p(-mean)) / rows
		}
	}
	t.constant = append(t.constant, ll)
	return nil
}
