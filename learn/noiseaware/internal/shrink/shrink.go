// Package shrink shortens means: by the estimate of James and Stein [JS61], and to the largest share that
// loses little.
package shrink

import (
	"math"

	"choir/learn/gauss"
)

// Slack is how many nats of a record may be lost by a mean that is sure not to lose.
const Slack = 0.005

// Largest is the largest number up to 1 below which all have a property of 0, to 2^-40.
func Largest(has func(k float64) bool) float64 {
	if has(1) {
		return 1
	}
	low, step := 0., 0.5
	for step > 0x1p-40 {
		if has(low + step) {
			low += step
		}
		step /= 2
	}
	return low
}

// Lengths are what every weight is expected to add to the squared length of a mean without a signal, if a
// weight counts by its precision: the sums alone have an estimate with the variance V/(1-PV) where the
// posterior has V, and without a signal the posterior's mean has V(1-PV).
func Lengths(variance, prior, precision []float64) []float64 {
	out := make([]float64, len(variance))
	for i, v := range variance {
		out[i] = precision[i] * v * (1 - min(1, prior[i]*v))
	}
	return out
}

// Kept is the share of a mean of a squared length that is not noise, to which weights are expected to add
// these lengths. The noise is taken for longer than expected by chance standard deviations of its
// squared length.
func Kept(square float64, noise []float64, chance float64) float64 {
	sum, squares, d := 0.0, 0.0, float64(len(noise))
	for _, v := range noise {
		sum += v
		squares += v * v
	}
	if sum == 0 {
		return 1
	}
	return max(0, 1-(max(0, d-2)*sum/d+chance*math.Sqrt(2*squares))/square)
}

// Square is the squared length of weights that count by their precisions.
func Square(m, precision []float64) float64 {
	out := 0.0
	for i, x := range m {
		out += precision[i] * x * x
	}
	return out
}

// About has the means of m, and the mean squares of weights with the law wide about them, at most the
// prior's variance: by the law of total variance what sums leave unknown of a weight is at most that on
// average, and more is an error of the approximations.
func About(m, wide *gauss.Moments, prior float64) *gauss.Moments {
	out := make([]float64, len(m.Mean))
	for i, v := range wide.Variance {
		away := wide.Mean[i] - m.Mean[i]
		out[i] = min(max(m.Variance[i], v+away*away), 1/prior)
	}
	return &gauss.Moments{Mean: m.Mean, Variance: out}
}
