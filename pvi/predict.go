package pvi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/pvi/model"
)

// Prediction is the posterior predictive of one record.
type Prediction struct {
	Mean float64 // Logistic: the probability of 1. Linear: the expected target
	SD   float64 // the standard deviation of the target, the observation's noise included
}

// Scores measure predictions on records that were not learnt from.
type Scores struct {
	Rows int `json:"rows"`
	// Accuracy is the share of rows on the right side of probability 1/2. It means
	// nothing for Linear and is 0 there.
	Accuracy float64 `json:"accuracy"`
	// RMSE is the root of the mean squared distance from Prediction.Mean to the target.
	RMSE float64 `json:"rmse"`
	// LogLikelihood is the mean log predictive probability (Logistic) or density
	// (Linear) of the targets, in nats per row.
	LogLikelihood float64 `json:"log_likelihood"`
}

// Predict is the predictive distribution at features x, of length Features.
func (p *Posterior) Predict(x []float64) (Prediction, error) {
	if len(x) != p.cfg.Features {
		return Prediction{}, fmt.Errorf("predict: %d features, want %d: %w", len(x), p.cfg.Features, ErrShape)
	}
	mu, v := p.activation(x)
	return p.predict(mu, v), nil
}

// Evaluate scores the predictive distribution on records. It needs at least one.
func (p *Posterior) Evaluate(d Data) (Scores, error) {
	if err := p.cfg.check(d); err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	if d.Rows() == 0 {
		return Scores{}, fmt.Errorf("evaluate: %w: no rows", ErrData)
	}
	s := Scores{Rows: d.Rows()}
	n := float64(d.Rows())
	for i, y := range d.Y {
		mu, v := p.activation(d.X[i*p.cfg.Features : (i+1)*p.cfg.Features])
		miss := p.predict(mu, v).Mean - y
		s.RMSE += miss * miss / n
		s.LogLikelihood += p.logDensity(mu, v, y) / n
		// The predictive probability is above 1/2 exactly when mu is positive.
		if p.cfg.Model == Logistic && (mu > 0) == (y == 1) {
			s.Accuracy++
		}
	}
	s.Accuracy /= n
	s.RMSE = math.Sqrt(s.RMSE)
	return s, nil
}

// activation is the mean and the variance of x.w.
func (p *Posterior) activation(x []float64) (mu, v float64) {
	mu = floats.Dot(x, p.moments.Mean)
	if c := p.moments.Covariance; c != nil {
		xv := mat.NewVecDense(len(x), x)
		return mu, mat.Inner(xv, c, xv)
	}
	for i, xi := range x {
		v += xi * xi * p.moments.Variance[i]
	}
	return mu, v
}

func (p *Posterior) predict(mu, v float64) Prediction {
	if p.cfg.Model == Linear {
		return Prediction{Mean: mu, SD: math.Sqrt(v + p.cfg.NoiseSD*p.cfg.NoiseSD)}
	}
	prob := math.Exp(model.LogExpectSigmoid(mu, v))
	return Prediction{Mean: prob, SD: math.Sqrt(prob * (1 - prob))}
}

// logDensity is the log predictive density of a target, exact for Linear and by
// quadrature for Logistic.
func (p *Posterior) logDensity(mu, v, y float64) float64 {
	if p.cfg.Model == Linear {
		v += p.cfg.NoiseSD * p.cfg.NoiseSD
		return -0.5 * (math.Log(2*math.Pi*v) + (y-mu)*(y-mu)/v)
	}
	if y == 0 {
		mu = -mu
	}
	return model.LogExpectSigmoid(mu, v)
}
