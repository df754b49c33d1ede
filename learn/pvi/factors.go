package pvi

// defaultUpdateClip is far above the norm of any useful update in natural parameters.
const defaultUpdateClip = 1 << 20

// Factors names what private factors include.
type Factors string

// The kinds of factors.
const (
	FactorsPrivate Factors = "private" // the clipped updates without noise; Beta is 0
	FactorsTied    Factors = "tied"    // the same, partly replaced by the public posterior; Beta is above 0
	// FactorsNoisy: with local noise, the party's own released updates, and the factor is
	// as public as they are. With joint noise it is the published scheme, which is less
	// private than claimed: it is there for study, and Mechanism rejects it.
	FactorsNoisy Factors = "noisy"
)

// Optimiser names the rule of the optimiser steps. Its state starts from zero in every
// round.
type Optimiser string

// The optimisers. A shard's Adam has no name; the others except Natural are for noisy
// steps only.
const (
	Adam    Optimiser = "adam"    // [KB15]
	Adagrad Optimiser = "adagrad" // [DHS11]
	SGD     Optimiser = "sgd"
	// Proximal is SGD with an implicit step on the public part of the free energy, for
	// the mean-field family: it does not diverge under a sharp cavity, so that larger
	// rates are possible.
	Proximal Optimiser = "proximal"
	// Natural is natural-gradient steps on the local free energy, LearningRate of the way
	// each: for the shards of the logistic model and the network, where one step of rate
	// 1 is a single pass; and for noisy steps in the mean-field family, where a record's
	// vector is measured in the posterior's units before it is clipped (docs/methods.md,
	// section 5).
	Natural Optimiser = "natural"
	// Newton is a party's Newton step in the weights; see StepBound.
	Newton Optimiser = "newton"
)

// Sampling names how records enter a noisy step.
type Sampling string

// The samplings.
const (
	SamplingNone    Sampling = ""        // every record, every step
	SamplingPoisson Sampling = "poisson" // each independently with probability SampleRate
	SamplingFixed   Sampling = "fixed"   // floor(SampleRate rows) of them, without replacement
)

// factors returns the kind of factors with the default filled in.
func (c Config) factors() Factors {
	switch {
	case c.Factors != "":
		return c.Factors
	case c.traits().local:
		return FactorsNoisy
	case c.Beta > 0:
		return FactorsTied
	}
	return FactorsPrivate
}

func (c Config) checkFactors(bad badField) {
	switch f := c.Factors; {
	case f != "" && f != FactorsPrivate && f != FactorsTied && f != FactorsNoisy:
		bad("factors", f, `"private", "tied" or "noisy"`)
	case f == FactorsPrivate && c.Beta > 0:
		bad("factors", f, `"tied" with a beta above 0`)
	case f == FactorsTied && !(c.Beta > 0):
		bad("factors", f, `"private" with a beta of 0`)
	case f != "" && f != FactorsNoisy && c.traits().local:
		bad("factors", f, `"noisy": this strategy releases each party's own update`)
	}
}

// updateClip returns UpdateClip with the default filled in.
func (c Config) updateClip() float64 {
	if c.UpdateClip == 0 {
		return defaultUpdateClip
	}
	return c.UpdateClip
}
