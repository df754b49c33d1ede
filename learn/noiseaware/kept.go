package noiseaware

import "choir/learn/gauss"

// Kept returns the posterior with a mean that is as short as the estimate of James and Stein [JS61]
// keeps it: where the noise is longer than the signal, that of the prior. The variances of single
// weights count the way that the mean was moved, up to the prior's.
func (d Diagonal) Kept() (m *gauss.Moments, marginal []float64) {
	m, marginal = d.Posterior()
	share := kept(m, d.Scales.Precisions(d.Prior, len(m.Mean)))
	for i, x := range m.Mean {
		m.Mean[i] = share * x
		away := x - m.Mean[i]
		marginal[i] = min(marginal[i]+away*away, 1/d.Prior)
	}
	return m, marginal
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
