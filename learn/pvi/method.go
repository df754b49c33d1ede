package pvi

import (
	"fmt"
	"math"

	"choir/learn/gauss"
	"choir/learn/model"
)

// Method is the part of a configuration that only some strategies need. Its zero
// value is the methods that came first: noise on the sum over all parties, private
// factors (tied when Beta is above 0), Adam, every record every time.
type Method struct {
	// Local places the noise at every party, in full, instead of on the sum over
	// all parties: what a party sends is private by itself. Strategies that clip
	// records have no other way and ask for it.
	Local bool `json:"local,omitempty"`
	// Factors says what a private factor takes in. Empty is what goes without
	// saying: FactorsNoisy where a strategy releases each party's update by itself,
	// and otherwise FactorsTied or FactorsPrivate as Beta is above 0 or not.
	Factors Factors `json:"factors,omitempty"`

	Optimiser Optimiser `json:"optimiser,omitempty"` // of the noisy steps, or of a shard's; empty is Adam
	// SDUnit, if above 0, is the unit in which the noisy steps measure log standard
	// deviations in the mean-field family; 0 is 1. It weighs them against the means in
	// a record's clipped gradient, and with it the noise: a small unit suits a
	// StartPrecision that is near the truth, since noise in a precision moves the mean
	// that it multiplies. Natural's steps don't depend on the unit, only their noise does:
	// there a large one keeps it out of the precisions.
	SDUnit     float64  `json:"sd_unit,omitempty"`
	Sampling   Sampling `json:"sampling,omitempty"`    // how records enter a noisy step; empty is all of them
	SampleRate float64  `json:"sample_rate,omitempty"` // in (0, 1] with Sampling, otherwise 0

	// StartPrecision is what all factors together begin with: this precision for
	// every weight, around 0, of which a party has its public share (NewLearner's
	// weight). A public guess of the posterior's precision spares the rounds in
	// which noise drowns the way to it. 0 is PVI's start, the prior.
	StartPrecision float64 `json:"start_precision,omitempty"`
	// StartSpread is the half-width of the interval around 0 in which the means of what
	// the factors begin with lie, one fixed public number for every weight. Units of a
	// network that start alike would stay alike; StartPrecision says how firmly they
	// are held there. Otherwise 0.
	StartSpread float64 `json:"start_spread,omitempty"`

	// StatisticClip is Hybrid's L2 bound of one record's natural parameters.
	StatisticClip float64 `json:"statistic_clip,omitempty"`
	// UpdateClip bounds, in L2, the whole update that a party sends with local
	// noise, so that sums have headroom. It is post-processing and costs no
	// privacy. 0 means DefaultUpdateClip.
	UpdateClip float64 `json:"update_clip,omitempty"`
	// Parties is the number of members, for BCMSplit; 0 otherwise.
	Parties int `json:"parties,omitempty"`
}

// DefaultUpdateClip is far beyond any sane update in natural parameters.
const DefaultUpdateClip = 1 << 20

// Factors names what private factors take in.
type Factors string

// The kinds of factors.
const (
	FactorsPrivate Factors = "private" // the clipped updates without noise; Beta is 0
	FactorsTied    Factors = "tied"    // the same, partly replaced by the public posterior; Beta is above 0
	// FactorsNoisy: with local noise, the party's own released updates, and the
	// factor is as public as they are. With joint noise it is the published scheme,
	// which is not private as it claims: for study, and Mechanism refuses it.
	FactorsNoisy Factors = "noisy"
)

// Optimiser names the rule of the noisy steps.
type Optimiser string

// The optimisers. Their state is made anew in every round. A shard's Adam has no name;
// the other ones but Natural are for noisy steps alone.
const (
	Adam    Optimiser = "adam"
	Adagrad Optimiser = "adagrad"
	SGD     Optimiser = "sgd"
	// Proximal is SGD with an implicit step on the public part of the free energy,
	// for the mean-field family: a sharp cavity doesn't make it diverge, so that it
	// takes larger rates.
	Proximal Optimiser = "proximal"
	// Natural is natural-gradient steps on the local free energy, LearningRate of the way
	// each. For the shards of the logistic model and the network, where one step of rate 1 is a
	// single pass;
	// and for noisy steps in the mean-field family, where a record's vector is measured in
	// the posterior's own units before it is clipped (docs/methods.md, section 5).
	Natural Optimiser = "natural"
)

// Sampling names how records enter a noisy step.
type Sampling string

// The samplings.
const (
	SamplingNone    Sampling = ""        // every record, every step
	SamplingPoisson Sampling = "poisson" // each by itself with probability SampleRate
	SamplingFixed   Sampling = "fixed"   // floor(SampleRate rows) of them, without replacement
)

// factors spells the default out.
func (c Config) factors() Factors {
	if c.Factors != "" {
		return c.Factors
	}
	switch t, _ := c.traits(); {
	case t.local:
		return FactorsNoisy
	case c.Beta > 0:
		return FactorsTied
	}
	return FactorsPrivate
}

// released tells whether a party's factor is the sum of its own released updates:
// one public factor per party. Otherwise every shard has a private one.
func (c Config) released() bool { return c.Local && c.factors() == FactorsNoisy }

// rows is how many vectors a state and a memo hold.
func (c Config) rows() int {
	if c.released() {
		return 1
	}
	return c.Shards
}

// stepped: the strategy works on single records, not by a site's Update.
func (c Config) stepped() bool { t, _ := c.traits(); return t.records }

func (c Config) sdUnit() float64 {
	if c.SDUnit == 0 {
		return 1
	}
	return c.SDUnit
}

// copies is how many times a shard counts its own data: as often as there are
// shards where each of them stands for the whole party.
func (c Config) copies() int {
	if c.Strategy == Averaging {
		return max(c.Shards, 1)
	}
	return 1
}

func (c Config) checkMethod(bad badField) {
	t, known := c.traits()
	if !known {
		return
	}
	if t.local && !c.Local {
		bad("local", c.Local, "true with strategy "+quoted(c.Strategy))
	}
	c.checkFactors(bad, t)
	c.checkStepped(bad, t)
	c.checkSampling(bad, t)
	if c.Strategy == Hybrid {
		if b, err := c.grid().IntBound(c.StatisticClip); (c.Clip > 0) != (c.StatisticClip > 0) || err != nil || (c.Clip > 0 && b == 0) {
			bad("statistic_clip", c.StatisticClip, "positive and representable exactly when clip is above 0")
		}
	} else if c.StatisticClip != 0 {
		bad("statistic_clip", c.StatisticClip, `0 unless the strategy is "hybrid"`)
	}
	if v := math.Ldexp(c.StartPrecision, c.rawBits()); !(v == 0 || (v >= 1 && v < 1<<60)) {
		bad("start_precision", c.StartPrecision, "0, or positive and representable on the grid 2^-(frac_bits+damping_bits)")
	}
	if c.StartSpread != 0 && !(c.StartSpread > 0 && c.StartSpread <= model.MaxSpread && c.StartPrecision > 0) {
		bad("start_spread", c.StartSpread, fmt.Sprintf("0, or at most %d with a start_precision above 0", model.MaxSpread))
	}
	c.checkFit(bad, t)
	c.checkOnce(bad, t)
}

// checkStepped: rates above 1 make sense where a gradient scales them.
func (c Config) checkStepped(bad badField, t traits) {
	switch c.Optimiser {
	case "", Adam, Adagrad, SGD:
	case Proximal:
		if c.Family == gauss.Full {
			bad("optimiser", c.Optimiser, `another one with family "full"`)
		}
	case Natural:
		c.checkNatural(bad, t)
	default:
		bad("optimiser", c.Optimiser, `"adam", "adagrad", "sgd", "proximal" or "natural"`)
	}
	if !t.iterative {
		if c.Optimiser != "" && c.Optimiser != Natural {
			bad("optimiser", c.Optimiser, "none with strategy "+quoted(c.Strategy))
		}
		if c.SDUnit != 0 {
			bad("sd_unit", c.SDUnit, "0 with strategy "+quoted(c.Strategy))
		}
		if t.records && c.Steps != 0 {
			bad("steps", c.Steps, "0 with strategy "+quoted(c.Strategy))
		}
		if t.records && c.LearningRate != 0 {
			bad("learning_rate", c.LearningRate, "0 with strategy "+quoted(c.Strategy))
		}
		return
	}
	if c.SDUnit != 0 && (c.Family != gauss.MeanField || !(c.SDUnit >= 0x1p-20 && c.SDUnit <= 0x1p10)) {
		bad("sd_unit", c.SDUnit, "0, or 2^-20 to 2^10 in the mean-field family")
	}
	if c.Steps < 1 || c.Steps > MaxSteps {
		bad("steps", c.Steps, fmt.Sprintf("1 to %d", MaxSteps))
	}
	if !(c.LearningRate > 0 && c.LearningRate <= 1e3) {
		bad("learning_rate", c.LearningRate, "in (0, 1000]")
	}
}

// checkNatural: a noisy step of more than the whole way overshoots what it aims at.
func (c Config) checkNatural(bad badField, t traits) {
	kind, ok := model.Lookup(string(c.Model))
	switch {
	case ok && !t.records && !kind.Natural:
		bad("optimiser", c.Optimiser, `another one unless terms are shards of the model "logistic" or "bnn"`)
	case t.records && !t.iterative:
		bad("optimiser", c.Optimiser, "none with strategy "+quoted(c.Strategy))
	case t.records && c.Family == gauss.Full:
		bad("optimiser", c.Optimiser, `another one with family "full"`)
	case t.records && c.LearningRate > 1:
		bad("learning_rate", c.LearningRate, `in (0, 1] with optimiser "natural"`)
	}
}

func (c Config) checkFactors(bad badField, t traits) {
	switch f := c.Factors; {
	case f != "" && f != FactorsPrivate && f != FactorsTied && f != FactorsNoisy:
		bad("factors", f, `"private", "tied" or "noisy"`)
	case f == FactorsPrivate && c.Beta > 0:
		bad("factors", f, `"tied" with a beta above 0`)
	case f == FactorsTied && !(c.Beta > 0):
		bad("factors", f, `"private" with a beta of 0`)
	case f != "" && f != FactorsNoisy && t.local:
		bad("factors", f, `"noisy" with strategy `+quoted(c.Strategy)+": the party's update is released by itself")
	}
}

func (c Config) checkSampling(bad badField, t traits) {
	switch {
	case c.Sampling != SamplingNone && c.Sampling != SamplingPoisson && c.Sampling != SamplingFixed:
		bad("sampling", c.Sampling, `"poisson", "fixed" or none`)
	case c.Sampling != SamplingNone && !t.records:
		bad("sampling", c.Sampling, "none with strategy "+quoted(c.Strategy)+", whose terms are shards")
	case c.Sampling == SamplingNone && c.SampleRate != 0:
		bad("sample_rate", c.SampleRate, "0 without sampling")
	case c.Sampling != SamplingNone && !(c.SampleRate >= minRate && c.SampleRate <= 1):
		bad("sample_rate", c.SampleRate, "in [2^-32, 1]")
	}
}

const minRate = 0x1p-32

// checkFit: which model a strategy goes with, and the bound of what is sent.
func (c Config) checkFit(bad badField, t traits) {
	if (c.Strategy == Analytic || c.Strategy == Hybrid) && c.Model != Linear {
		bad("strategy", c.Strategy, `another one unless the model is "linear"`)
	}
	if kind, ok := model.Lookup(string(c.Model)); ok && t.records && kind.External {
		bad("strategy", c.Strategy, fmt.Sprintf("another one with model %q, whose records can't be taken one at a time", c.Model))
	}
	if c.Strategy == Analytic && c.Family != gauss.Full && c.Features > 1 {
		bad("family", c.Family, `"full" with strategy "analytic": a mean-field posterior isn't a sum over records`)
	}
	if kind, ok := model.Lookup(string(c.Model)); ok && c.Strategy == Averaging && !kind.Tempered {
		bad("strategy", c.Strategy, fmt.Sprintf("another one with model %q", c.Model))
	}
	if c.UpdateClip != 0 && !c.Local {
		bad("update_clip", c.UpdateClip, "0 without local noise")
	}
	if b, err := c.grid().IntBound(c.updateClip()); c.Local && (err != nil || b == 0) || math.IsNaN(c.UpdateClip) {
		bad("update_clip", c.UpdateClip, "at least 2^-frac_bits and below 2^(62-frac_bits)")
	}
}

// checkOnce: a committee has one undamped round.
func (c Config) checkOnce(bad badField, t traits) {
	if split := c.Strategy == BCMSplit; split != (c.Parties > 0) || c.Parties < 0 || c.Parties > 1<<20 {
		bad("parties", c.Parties, `the number of members with strategy "bcm-split", otherwise 0`)
	}
	if !t.once {
		return
	}
	if c.Damping != 1 {
		bad("damping", c.Damping, "1 with strategy "+quoted(c.Strategy))
	}
	if c.Beta != 0 {
		bad("beta", c.Beta, "0 with strategy "+quoted(c.Strategy))
	}
}

func (c Config) updateClip() float64 {
	if c.UpdateClip == 0 {
		return DefaultUpdateClip
	}
	return c.UpdateClip
}

func quoted(s Strategy) string { return `"` + string(s) + `"` }
