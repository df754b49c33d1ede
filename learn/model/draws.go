package model

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Draws averages a logistic model's predictions over draws from the posterior.
const Draws Predictive = "draws"

// LogisticDraws is the posterior predictive distribution of logistic regression by draws of
// the weights, of which there is at least one.
type LogisticDraws [][]float64

// Predict implements Predictor.
func (d LogisticDraws) Predict(x []float64) Prediction {
	var mean, square float64
	for _, w := range d {
		p := math.Exp(logSigmoid(floats.Dot(x, w)))
		mean += p / float64(len(d))
		square += p * p / float64(len(d))
	}
	return Prediction{Mean: mean, SD: math.Sqrt(mean * (1 - mean)), MeanSD: math.Sqrt(max(0, square-mean*mean))}
}

// Score implements Predictor.
func (d LogisticDraws) Score(x []float64, y float64) (mean, logDensity float64) {
	likely := 0.0
	for _, w := range d {
		a := floats.Dot(x, w)
		mean += math.Exp(logSigmoid(a)) / float64(len(d))
		if y == 0 {
			a = -a
		}
		likely += math.Exp(logSigmoid(a)) / float64(len(d))
	}
	return mean, math.Log(max(likely, math.SmallestNonzeroFloat64))
}
