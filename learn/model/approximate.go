package model

import (
	"errors"
	"fmt"
	"math"
)

// Predictive names how a logistic model averages the sigmoid over its activation.
type Predictive string

// The ways. [Workshop] uses the probit approximation, [DP-PVI] Monte Carlo with 100
// samples.
const (
	Quadrature Predictive = "quadrature" // to 1e-11; the default
	Probit     Predictive = "probit"     // sigma(mu / sqrt(1 + pi v / 8)), MacKay 1992
	MonteCarlo Predictive = "monte-carlo"
)

// ErrPredictive: a model has no such predictive distribution.
var ErrPredictive = errors.New("no such predictive distribution")

// Approximate returns p with another way of averaging. Every model has Quadrature, its most
// accurate way; only the logistic one has the others.
func Approximate(p Predictor, by Predictive) (Predictor, error) {
	l, logistic := p.(logisticPredictor)
	switch {
	case by == Quadrature || by == "":
		return p, nil
	case by == Probit && logistic:
		return probitPredictor{l}, nil
	case by == MonteCarlo && logistic:
		from, z := normals{}, make([]float64, predictiveSamples)
		from.fill(z)
		return sampledPredictor{l, z}, nil
	}
	return nil, fmt.Errorf("%w: %q is not %q, or %q or %q of a logistic model", ErrPredictive, by, Quadrature,
		Probit, MonteCarlo)
}

// probitPredictor squashes the mean activation by its variance.
type probitPredictor struct{ logisticPredictor }

// Predict implements Predictor. The spread of the mean is by quadrature.
func (p probitPredictor) Predict(x []float64) Prediction {
	mu, v := activation(p.m, x)
	prob := math.Exp(logSigmoid(squash(mu, v)))
	return Prediction{Mean: prob, SD: math.Sqrt(prob * (1 - prob)), MeanSD: sigmoidSD(mu, v)}
}

func squash(mu, v float64) float64 { return mu / math.Sqrt(1+math.Pi*v/8) }

// Score implements Predictor.
func (p probitPredictor) Score(x []float64, y float64) (mean, logDensity float64) {
	mu, v := activation(p.m, x)
	a := squash(mu, v)
	if y == 0 {
		return math.Exp(logSigmoid(a)), logSigmoid(-a)
	}
	return math.Exp(logSigmoid(a)), logSigmoid(a)
}

// sampledPredictor averages over one fixed set of samples, the same for every
// record.
type sampledPredictor struct {
	logisticPredictor
	z []float64
}

// Predict implements Predictor.
func (p sampledPredictor) Predict(x []float64) Prediction {
	mu, v := activation(p.m, x)
	var mean, square float64
	for _, z := range p.z {
		s := math.Exp(logSigmoid(mu + math.Sqrt(v)*z))
		mean += s / float64(len(p.z))
		square += s * s / float64(len(p.z))
	}
	return Prediction{Mean: mean, SD: math.Sqrt(mean * (1 - mean)),
		MeanSD: math.Sqrt(max(0, square-mean*mean))}
}

// Score implements Predictor.
func (p sampledPredictor) Score(x []float64, y float64) (mean, logDensity float64) {
	mu, v := activation(p.m, x)
	sign := 2*y - 1
	top := math.Inf(-1)
	sum := 0.0
	for _, z := range p.z {
		l := logSigmoid(sign * (mu + math.Sqrt(v)*z))
		mean += math.Exp(logSigmoid(mu+math.Sqrt(v)*z)) / float64(len(p.z))
		if l > top {
			top, sum = l, sum*math.Exp(top-l)
		}
		sum += math.Exp(l - top)
	}
	return mean, min(0, top+math.Log(sum/float64(len(p.z))))
}
