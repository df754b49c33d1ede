package noiseaware

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/shrink"
)

// Kept returns the posterior with a mean that is as short as the estimate of James and Stein [JS61]
// keeps that of the weights by themselves: where the noise is longer than the signal, that of the
// prior. Lengths are those of predictions, where a weight counts by its precision: the noise on the
// weights of rare categories tells little of the others. A mean of classes also keeps only what is sure not
// to lose (Response). Under the prior by which the estimate is a mean, the share that is kept of the mean
// is also kept of its variance by noise. The variances of single weights count the way that the mean was
// moved, up to the prior's.
func (d Diagonal) Kept() (m, single *gauss.Moments) { return d.shortened(len(d.Scores), 1) }

// KeptSlopes is Kept by a power of the share, of all weights but the last, an intercept. Nobody
// knows which columns belong together: noise on such weights adds up to less than what they tell
// together, and if all did the mean should be kept whole, the power 0 of the share.
func (d Diagonal) KeptSlopes() (m, single *gauss.Moments) {
	return d.shortened(len(d.Scores)-1, together)
}

// together is the power of the share that is kept of slopes, between 1, for columns that have nothing to do
// with each other, and 0.
const together = 0.4

// shortened keeps this power of the share of the first n weights.
func (d Diagonal) shortened(n int, power float64) (m, single *gauss.Moments) {
	m, single = d.Posterior()
	prior := d.Scales.Precisions(d.Prior, len(m.Mean))
	var e []float64
	d.Precision, e = d.Pooled()
	own := m
	if d.Floor > 0 {
		own = d.alone(e, prior)
	}
	noise := shrink.Lengths(own.Variance[:n], prior, d.Precision)
	for i, p := range d.Precision[:n] {
		if d.Answered > 0 && p > 0 {
			noise[i] *= (d.Answered*p + d.ScoreNoise[i]) / (p + d.ScoreNoise[i])
		}
	}
	whole, length := shrink.Square(own.Mean[:n], d.Precision), shrink.Square(m.Mean[:n], d.Precision)
	left := shrink.Kept(whole, noise, 0)
	share := math.Pow(left, power)
	if length > 0 {
		share = min(1, share*math.Sqrt(whole/length))
	}
	before := slices.Clone(m.Mean)
	floats.Scale(share, m.Mean[:n])
	d.assured(m, steeper(left, power, n))
	for i, x := range before {
		if h := d.linear(i); h != 0 {
			m.Variance[i] = max(m.Variance[i],
				min(m.Mean[i]*x/(h*h)*(d.Precision[i]+d.ScoreNoise[i]), 1/prior[i]))
		}
		away := x - m.Mean[i]
		single.Variance[i] = min(max(single.Variance[i], m.Variance[i])+away*away, 1/d.Prior)
	}
	return m, single
}
