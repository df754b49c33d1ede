package mcmc

import (
	"choir/learn/gauss"
	"choir/learn/noiseaware"
)

// longer are single weights, which have a longer prior where the sums ask for it. posterior is that of the
// weights in phi by evidence that has its prior.
func (t trace) longer(p *Posterior, g *geometry, e evidence,
	posterior func(evidence) (*approximation, error)) *gauss.Moments {
	under := func(precision float64) (noiseaware.Weights, bool) {
		b := *t.base
		b.cfg.PriorPrecision = precision
		at, far := trace{&b}, e
		far.Prior = at.prior(g, precision)
		q, err := posterior(far)
		if err != nil {
			return noiseaware.Weights{}, false
		}
		var out Posterior
		_, err = at.gaussian(&out, g, far, q)
		return out.single(), err == nil
	}
	return noiseaware.Longer(t.cfg.PriorPrecision, p.single(), under)
}

// single are the means and variances of a Gaussian's weights.
func (p *Posterior) single() noiseaware.Weights {
	m := &gauss.Moments{Mean: p.Mean, Variance: p.Variance}
	return noiseaware.Weights{Law: m, Single: m}
}
