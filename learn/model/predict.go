package model

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// Prediction is the predictive distribution of the target of one record.
type Prediction struct {
	// Mean is the expected target: the probability of 1 when targets are 0 or 1.
	Mean float64
	// SD is the standard deviation of the target, the observation's own noise
	// included.
	SD float64
	// MeanSD is the standard deviation, over the posterior, of the target's
	// expectation given the weights: the part of the uncertainty that more data
	// would take away. It is at most SD.
	MeanSD float64
}

// Predictor is a posterior predictive distribution. It is deterministic, keeps no
// state and may be used from several goroutines. x has Settings.Features numbers.
type Predictor interface {
	Predict(x []float64) Prediction
	// Score is Predict's mean and the log predictive probability (Binary) or
	// density of the target y: what an evaluation needs, at less cost.
	Score(x []float64, y float64) (mean, logDensity float64)
}

// activation is the mean and the variance of x.w under m.
func activation(m *gauss.Moments, x []float64) (mu, v float64) {
	mu = floats.Dot(x, m.Mean)
	if m.Covariance != nil {
		xv := mat.NewVecDense(len(x), x)
		return mu, mat.Inner(xv, m.Covariance, xv)
	}
	for i, xi := range x {
		v += xi * xi * m.Variance[i]
	}
	return mu, v
}

// logisticPredictor averages the sigmoid over the activation by quadrature.
type logisticPredictor struct{ m *gauss.Moments }

// Predict implements Predictor. The mean is on the same side of 1/2 as the
// activation's.
func (p logisticPredictor) Predict(x []float64) Prediction {
	mu, v := activation(p.m, x)
	small := math.Exp(logExpectSigmoid(-math.Abs(mu), v))
	prob := small
	if mu > 0 {
		prob = 1 - small
	}
	return Prediction{Mean: side(prob, mu), SD: math.Sqrt(small * (1 - small)),
		MeanSD: sigmoidSD(-math.Abs(mu), v)}
}

// Score implements Predictor.
func (p logisticPredictor) Score(x []float64, y float64) (mean, logDensity float64) {
	mu, v := activation(p.m, x)
	if y == 0 {
		l := logExpectSigmoid(-mu, v)
		return side(1-math.Exp(l), mu), l
	}
	l := logExpectSigmoid(mu, v)
	return side(math.Exp(l), mu), l
}

// side puts a probability on the activation's side of 1/2, where it is but for
// rounding.
func side(prob, mu float64) float64 {
	if mu > 0 {
		return max(prob, math.Nextafter(0.5, 1))
	}
	return min(prob, 0.5)
}

// linearPredictor is exact.
type linearPredictor struct {
	m     *gauss.Moments
	noise float64
}

// Predict implements Predictor.
func (p linearPredictor) Predict(x []float64) Prediction {
	mu, v := activation(p.m, x)
	return Prediction{Mean: mu, SD: math.Sqrt(v + p.noise*p.noise), MeanSD: math.Sqrt(v)}
}

// Score implements Predictor.
func (p linearPredictor) Score(x []float64, y float64) (mean, logDensity float64) {
	mu, v := activation(p.m, x)
	v += p.noise * p.noise
	return mu, -0.5 * (math.Log(2*math.Pi*v) + (y-mu)*(y-mu)/v)
}
