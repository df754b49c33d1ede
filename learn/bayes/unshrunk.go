package bayes

import (
	"math"
	"slices"
)

// Unshrunk returns the posterior with standard deviations of single weights that don't lean on the mean of
// a prior of these variances, one a weight: those of what was learnt alone, at most the prior's. Means and
// predictions don't change.
//
// A posterior's variance v is right on average over the weights that the prior draws. Its mean is shrunk to
// the prior's by s = v/prior, so that for a weight w, whose estimate without the prior has the variance
// v/(1-s), the mean square error is s^2 w^2 + (1-s) v. The variance here is v/(1-s) where s is at most 1/2,
// and the prior's otherwise. The error is at most that for every w whose square is, in variances of the
// prior, up to (2-s)/(1-s), and (1-s+s^2)/s^2 where s is more than 1/2: at least twice the prior's variance
// where the sums tell more than the prior does, and the prior's where they tell nothing:
// docs/noise-aware.md, section 6.
func (p *Posterior) Unshrunk(prior []float64) *Posterior {
	shrunk, sd := p.SD(), p.SD()
	for i, s := range sd {
		own := prior[i] * p.told(i)
		if alone := 1/(s*s) - 1/own; alone > 1/own {
			sd[i] = 1 / math.Sqrt(alone)
		} else {
			sd[i] = max(s, math.Sqrt(own))
		}
	}
	out := p.WithWeights(p.Mean(), sd)
	out.shrunk = shrunk
	return out
}

// Longer returns the posterior with standard deviations of single weights for a prior of these variances, one
// a weight, that may be too narrow: where longer is more than 1 the weight's prior may be wider by that
// factor. What was learnt alone has the mean m/(1-s) and the variance v/(1-s), with s and v as for Unshrunk;
// the standard deviation reaches from m to it, and is at most that of the longer prior. Means and predictions
// don't change.
func (p *Posterior) Longer(prior, longer []float64) *Posterior {
	sd := slices.Clone(p.SD())
	for i, s := range p.Shrunk() {
		if longer[i] <= 1 {
			continue
		}
		own := prior[i] * p.told(i)
		wide := longer[i] * math.Sqrt(own)
		if alone := 1/(s*s) - 1/own; alone > 0 {
			wide = min(wide, math.Hypot(1/math.Sqrt(alone), p.Mean()[i]/own/alone))
		}
		sd[i] = max(sd[i], wide)
	}
	shrunk := p.Shrunk()
	out := p.WithWeights(p.Mean(), sd)
	out.shrunk = shrunk
	return out
}

// Shrunk returns the standard deviations of single weights under the prior: those of SD before Unshrunk.
func (p *Posterior) Shrunk() []float64 {
	if p.shrunk != nil {
		return p.shrunk
	}
	return p.SD()
}
