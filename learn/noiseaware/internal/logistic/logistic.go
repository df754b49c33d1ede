// Package logistic has means of the logistic function s over normal logits.
package logistic

import "math"

// Probit is the variance of the normal distribution function that is about the logistic one
// ([MacKay92]).
const Probit = 8 / math.Pi

// Cumulative is the normal distribution function.
func Cumulative(u float64) float64 { return math.Erfc(-u/math.Sqrt2) / 2 }

// MeanSlope is the mean slope of the logistic function over normal logits.
func MeanSlope(mean, variance float64) float64 {
	const step = 0.1 // of 16 standard deviations
	sd, out := math.Sqrt(max(0, variance)), 0.0
	for i := -80; i <= 80; i++ {
		z := step * float64(i)
		p := 1 / (1 + math.Exp(-mean-sd*z))
		out += p * (1 - p) * math.Exp(-z*z/2)
	}
	return out * step / math.Sqrt(2*math.Pi)
}

// LogCosh is log cosh x, for x of 0 or more.
func LogCosh(x float64) float64 { return x + math.Log1p(math.Exp(-2*x)) - math.Ln2 }
