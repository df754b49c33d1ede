package noiseaware

import (
	"math"

	"choir/learn/gauss"
)

// Kept returns the posterior with a mean that is as short as the estimate of James and Stein [JS61]
// keeps that of the weights by themselves: where the noise is longer than the signal, that of the
// prior. Lengths are those of predictions, where a weight counts by its precision: the noise on the
// weights of rare categories says little of the others. Under the prior by which the estimate is a mean,
// the share that is kept of the mean is also kept of its variance by noise. The variances of single
// weights count the way that the mean was moved, up to the prior's.
func (d Diagonal) Kept() (m, single *gauss.Moments) {
	m, single = d.Posterior()
	prior := d.Scales.Precisions(d.Prior, len(m.Mean))
	var e []float64
	d.Precision, e = d.Pooled()
	own := m
	if d.Floor > 0 {
		own = d.alone(e, prior)
	}
	share := kept(own, prior, d.Precision, d.Chance)
	if length := square(m.Mean, d.Precision); length > 0 {
		share = min(1, share*math.Sqrt(square(own.Mean, d.Precision)/length))
	}
	for i, x := range m.Mean {
		m.Mean[i] = share * x
		if h := d.linear(i); h != 0 {
			m.Variance[i] = max(m.Variance[i], min(share*x*x/(h*h)*(d.Precision[i]+d.ScoreNoise[i]), 1/prior[i]))
		}
		away := x - m.Mean[i]
		single.Variance[i] = min(max(single.Variance[i], m.Variance[i])+away*away, 1/d.Prior)
	}
	return m, single
}

// kept is the share of a mean that is not noise, if a weight counts by its precision: the sums alone
// have an estimate with the variance V/(1-PV) where the posterior has V, and without a signal the
// posterior's mean has V(1-PV). The noise is taken for longer than expected by chance standard deviations
// of its squared length.
func kept(m *gauss.Moments, prior, precision []float64, chance float64) float64 {
	noise, squares, d := 0.0, 0.0, float64(len(m.Mean))
	for i, v := range m.Variance {
		own := precision[i] * v * (1 - min(1, prior[i]*v))
		noise += own / d
		squares += own * own
	}
	if noise == 0 {
		return 1
	}
	length := max(0, d-2)*noise + chance*math.Sqrt(2*squares)
	return max(0, 1-length/square(m.Mean, precision))
}

// square is the squared length of weights that count by their precisions.
func square(m, precision []float64) float64 {
	out := 0.0
	for i, x := range m {
		out += precision[i] * x * x
	}
	return out
}
