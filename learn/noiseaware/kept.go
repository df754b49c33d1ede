package noiseaware

import (
	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
)

// Kept returns the posterior with a mean that is as short as the estimate of James and Stein [JS61]
// keeps that of the weights by themselves: where the noise is longer than the signal, that of the
// prior. The variances of single weights count the way that the mean was moved, up to the prior's.
func (d Diagonal) Kept() (m, single *gauss.Moments) {
	m, single = d.Posterior()
	prior := d.Scales.Precisions(d.Prior, len(m.Mean))
	own := m
	if d.Floor > 0 {
		var e []float64
		d.Precision, e = d.Pooled()
		own = d.alone(e, prior)
	}
	share := kept(own, prior)
	if length := floats.Norm(m.Mean, 2); length > 0 {
		share = min(1, share*floats.Norm(own.Mean, 2)/length)
	}
	for i, x := range m.Mean {
		m.Mean[i] = share * x
		away := x - m.Mean[i]
		single.Variance[i] = min(single.Variance[i]+away*away, 1/d.Prior)
	}
	return m, single
}

// kept is the share of a mean that is not noise: the sums alone have an estimate with the variance
// V/(1-PV) where the posterior has V, and without a signal the posterior's mean has V(1-PV).
func kept(m *gauss.Moments, prior []float64) float64 {
	square, noise, d := 0.0, 0.0, float64(len(m.Mean))
	for i, v := range m.Variance {
		square += m.Mean[i] * m.Mean[i]
		noise += v * (1 - min(1, prior[i]*v)) / d
	}
	if noise == 0 {
		return 1
	}
	return max(0, 1-max(0, d-2)*noise/square)
}
