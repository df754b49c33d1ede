package bayes

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/internal/absent"
	"choir/learn/model"
)

// Posterior is the proper Gaussian q over the weights, with the model that predicts from
// it. It is immutable; callers must not modify what its methods return.
type Posterior struct {
	of      Likelihood
	natural []float64
	moments *gauss.Moments
	by      model.Predictive
	recode  func(x []float64) []float64 // of records to predict; nil: none
	draws   [][]float64
	// single has the means and variances of single weights where they are not those of moments,
	// which predict.
	single   *gauss.Moments
	shrunk   []float64  // standard deviations of single weights before Unshrunk; nil: SD
	untold   *mat.Dense // orthonormal basis, in columns, of what Told left out; nil: nothing
	fitted   []float64  // mean of single weights before Told; nil: Mean
	rare     bool
	measured *Measured
}

// Rare reports whether the noise leaves open that next to no record has one of the classes, as far
// as is known.
func (p *Posterior) Rare() bool { return p.rare }

// WithWeights returns the posterior with these means and standard deviations of single weights, by
// which Mean, SD and Covariance answer. Correlations and predictions don't change.
func (p *Posterior) WithWeights(mean, sd []float64) *Posterior {
	with := *p
	with.single = &gauss.Moments{Mean: mean, Variance: make([]float64, len(sd))}
	for i, s := range sd {
		with.single.Variance[i] = s * s
	}
	if own := p.weights().Covariance; own != nil {
		with.single.Covariance = rescaled(own, with.single.Variance)
	}
	return &with
}

// rescaled is a covariance with these variances and the same correlations.
func rescaled(c *mat.SymDense, variance []float64) *mat.SymDense {
	out := mat.NewSymDense(len(variance), nil)
	for i, v := range variance {
		out.SetSym(i, i, v)
		for j := range i {
			out.SetSym(i, j, math.Sqrt(v/c.At(i, i)*variance[j]/c.At(j, j))*c.At(i, j))
		}
	}
	return out
}

// WithCovariance returns the posterior with this covariance of single weights, and the variances on its
// diagonal. Means and predictions don't change.
func (p *Posterior) WithCovariance(c *mat.SymDense) *Posterior {
	with := *p
	with.single = &gauss.Moments{Mean: p.Mean(), Variance: make([]float64, c.SymmetricDim()), Covariance: c}
	for i := range with.single.Variance {
		with.single.Variance[i] = c.At(i, i)
	}
	return &with
}

// WithNoise returns the posterior of a linear model whose observations have noise of this standard deviation,
// as it was measured; nil: it wasn't.
func (p *Posterior) WithNoise(sd float64, m *Measured) *Posterior {
	with := *p
	with.of.NoiseSD, with.measured = sd, m
	return &with
}

// Moments are those that predict.
func (p *Posterior) Moments() *gauss.Moments { return p.moments }

// Single are the moments of single weights.
func (p *Posterior) Single() *gauss.Moments { return p.weights() }

// weights are the moments of single weights.
func (p *Posterior) weights() *gauss.Moments {
	if p.single != nil {
		return p.single
	}
	return p.moments
}

// WithDraws returns the posterior of a logistic model with draws from it, over which it
// averages predictions; without any it is unchanged. The draws are kept, not copied.
func (p *Posterior) WithDraws(draws [][]float64) *Posterior {
	with := *p
	with.draws = draws
	return &with
}

// After returns the posterior for records that are still to be recoded: its weights are those
// of the columns that recode returns. recode leaves its argument as it is.
func (p *Posterior) After(recode func(x []float64) []float64) *Posterior {
	with := *p
	with.recode = recode
	return &with
}

// Filled returns the posterior for records whose missing numbers are at these, one for each column, in
// predictions; nil: at 0. See package absent.
func (p *Posterior) Filled(at []float64) *Posterior {
	if at == nil {
		return p
	}
	return p.After(func(x []float64) []float64 {
		x = slices.Clone(x)
		for i, v := range x {
			if absent.Is(v) {
				x[i] = at[i]
			}
		}
		return x
	})
}

// Natural returns the natural parameters, length Likelihood.Dim, laid out as in package gauss.
func (p *Posterior) Natural() []float64 { return p.natural }

// Mean returns the posterior mean of every weight.
func (p *Posterior) Mean() []float64 { return p.weights().Mean }

// Fitted returns the mean of single weights as they were fitted: that of Mean before Told.
func (p *Posterior) Fitted() []float64 {
	if p.fitted != nil {
		return p.fitted
	}
	return p.Mean()
}

// SD returns the marginal posterior standard deviation of every weight.
func (p *Posterior) SD() []float64 {
	sd := make([]float64, len(p.moments.Variance))
	for i, v := range p.weights().Variance {
		sd[i] = math.Sqrt(v)
	}
	return sd
}

// Covariance returns the posterior covariance of single weights, with the variances of SD: diagonal in the
// mean-field family, but for Told and Untold.
func (p *Posterior) Covariance() *mat.SymDense {
	m := p.weights()
	if m.Covariance != nil {
		return m.Covariance
	}
	if p.moments.Covariance != nil {
		return rescaled(p.moments.Covariance, m.Variance)
	}
	return diagonal(m.Variance)
}

func diagonal(variance []float64) *mat.SymDense {
	c := mat.NewSymDense(len(variance), nil)
	for i, v := range variance {
		c.SetSym(i, i, v)
	}
	return c
}

// KL returns the divergence KL(p || other) in nats, at least 0 up to rounding: the measure of quality
// in [Thesis] (section 4.1.4). It is of the Gaussians that predict, with the parameters Natural: other
// moments of single weights do not count. Both must be over the same weights. Errors: ErrShape,
// gauss.ErrImproper.
func (p *Posterior) KL(other *Posterior) (float64, error) {
	d := p.of.Weights()
	if other.of.Weights() != d {
		return 0, fmt.Errorf("kl: %d and %d weights: %w", d, other.of.Weights(), ErrShape)
	}
	precision := other.of.space().Precision(other.natural)
	var cholP, cholQ mat.Cholesky
	if !cholP.Factorize(p.of.space().Precision(p.natural)) || !cholQ.Factorize(precision) {
		return 0, fmt.Errorf("kl: %w", gauss.ErrImproper)
	}
	diff := mat.NewVecDense(d, nil)
	diff.SubVec(mat.NewVecDense(d, p.moments.Mean), mat.NewVecDense(d, other.moments.Mean))
	covariance := p.moments.Covariance
	if covariance == nil {
		covariance = diagonal(p.moments.Variance)
	}
	var prod mat.Dense
	prod.Mul(precision, covariance)
	quad := mat.Trace(&prod) + mat.Inner(diff, precision, diff) - float64(d)
	return 0.5 * (quad + cholP.LogDet() - cholQ.LogDet()), nil
}

// Measured is what residual rounds told of an observation's noise.
type Measured struct {
	Assumed float64 `json:"assumed"` // standard deviation by the plan
	// Lower and Upper are a 95 % interval of the standard deviation of the observations' noise. That of
	// the predictions also makes up for a posterior whose width is not its error.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Measured returns what the posterior's observation noise was measured to be; nil if it is the plan's.
func (p *Posterior) Measured() *Measured { return p.measured }
