package pvi

import (
	"math"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// nonPrivate is the configuration of the reference without privacy for a number of
// parties: the same model and prior, one factor per party, no clipping, no tie to
// the public posterior, constant damping, and enough optimiser steps to come near
// each local optimum.
//
// The damping is 1 for one party and for the conjugate model, where an undamped
// round is exact. Otherwise it is 2 over the number of parties, at most 1/2:
// synchronous updates that correct the same error together overshoot (on the Adult
// data ten parties settle with 0.2 and diverge with 1).
func (c Config) nonPrivate(parties int) Config {
	var fit Fit
	if c.Model != bayes.Linear {
		p := c.params()
		fit = Fit{Steps: max(p.Steps, 50), LearningRate: min(p.LearningRate, 0.02)}
	}
	c.Strategy = Dataset{Fit: fit}
	c.Clip, c.UpdateClip = 0, 0
	c.Beta, c.Factors = 0, ""
	c.Damping, c.DampingDecay = 1, 0
	c.StartPrecision, c.StartSpread = 0, 0
	if parties > 1 && !c.conjugate() {
		c.Damping = max(min(0.5, 2/float64(parties)), math.Ldexp(1, -int(c.DampingBits)))
	}
	return c
}

// conjugate reports whether local updates are exact in closed form under every cavity.
func (c Config) conjugate() bool { return c.Model == bayes.Linear && c.Family == gauss.Full }
