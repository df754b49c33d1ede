package pvi

// Strategy is what a party computes and where its privacy comes from, with the parameters
// that only this strategy has: one of Dataset, Virtual, Averaging, Perturbation,
// Optimisation, Analytic, BCMSame and BCMSplit, or the one of NameHybrid, which only
// Params.Strategy returns. Strategies are plain values and may be compared with ==.
// docs/methods.md has the theorems.
type Strategy interface {
	// Name returns the name of the strategy in a plan.
	Name() StrategyName
	// Params returns the parameters in the flat form of a plan.
	Params() Params
	// check reports every parameter that is out of range or does not fit c.
	check(c Config, bad badField)
}

// StrategyName names a strategy in a plan.
type StrategyName string

// The names of the strategies.
const (
	NameDataset      StrategyName = "dataset"
	NameVirtual      StrategyName = "virtual"
	NameAveraging    StrategyName = "averaging"
	NamePerturbation StrategyName = "perturbation"
	NameOptimisation StrategyName = "optimisation"
	NameAnalytic     StrategyName = "analytic"
	NameHybrid       StrategyName = "hybrid"
	NameBCMSame      StrategyName = "bcm-same"
	NameBCMSplit     StrategyName = "bcm-split"
)

var strategyNames = []StrategyName{NameAnalytic, NameAveraging, NameBCMSame, NameBCMSplit, NameDataset,
	NameHybrid, NameOptimisation, NamePerturbation, NameVirtual}

// Local reports whether the noise is always at every party under this strategy.
func (s StrategyName) Local() bool { return traitsOf[s].local }

// Sharded reports whether a term is a shard's update under this strategy.
func (s StrategyName) Sharded() bool { return traitsOf[s].sharded }

// Fit is how a shard's update is computed. Steps and LearningRate are 0 where the update
// is in closed form.
type Fit struct {
	Optimiser    Optimiser // Natural, with Dataset also Newton, or empty for Adam
	Steps        int       // per round
	LearningRate float64
}

// Dataset is one factor for each party: Algorithm 3 of [Thesis] with the noise kept out
// of the factor.
type Dataset struct {
	Fit
	// Local places all of the noise at every party instead of on the sum over parties.
	Local bool
}

// Virtual is Shards factors for each party, each for a part of its data: [DP-PVI],
// Algorithm 3.
type Virtual struct {
	Shards int
	// ShardPower p in [0, 2] makes the number of shards depend on the size of a party:
	// a party with all the records has Shards, and one with the public share w of them
	// Shards w^p, rounded, at least 1. With 1 all shards have about the same number of
	// records; with 0 every party has Shards.
	ShardPower float64
	// ShardRows, if above 0, makes the number of shards depend on a party's own number of
	// records: one for every ShardRows of them, at most Shards. 1 is a virtual client for
	// every record.
	ShardRows int
	Fit
	Local bool // as in Dataset
}

// Averaging is Algorithm 2 of [DP-PVI] in a form with a proof: each shard fits the whole
// of its party's factor to its part of the data, counted Shards times, and the party
// sends the mean of the clipped updates. Config.Clip bounds an update before the mean.
type Averaging struct {
	Shards int
	Fit
	Local bool // as in Dataset
}

// Perturbation is the parameter perturbation of [DP-PVI]: a party's clipped update with
// all of the noise, which its factor includes.
type Perturbation struct{ Fit }

// Optimisation is the DP optimisation of [DP-PVI]: Steps noisy gradient steps on the
// local free energy, with every record's gradient clipped to Config.Clip.
type Optimisation struct {
	Optimiser Optimiser // empty is Adam
	// SDUnit, if above 0, is the unit in which the steps measure log standard deviations
	// in the mean-field family; 0 is 1. It weighs them against the means in a record's
	// clipped gradient, and with it the noise: a small unit suits a StartPrecision near
	// the truth, since noise in a precision moves the mean that it multiplies. The steps
	// of Natural do not depend on the unit, only their noise does: there a large unit
	// keeps the noise out of the precisions.
	SDUnit       float64
	Steps        int // per round
	LearningRate float64
	Sampling     Sampling // how records enter a step; empty is all of them
	SampleRate   float64  // in (0, 1] with Sampling, otherwise 0
}

// Analytic is section 4.2.2 of [Thesis]: linear regression whose update is a noisy sum of
// the records' clipped natural parameters.
type Analytic struct {
	Sampling   Sampling // as in Optimisation
	SampleRate float64
}

// hybrid is section 4.2.3 of [Thesis]: a party's first round starts with the sum of
// Analytic and continues with the steps of Optimisation.
type hybrid struct {
	Optimisation
	StatisticClip float64 // L2 bound of one record's natural parameters
}

// BCMSame is the Bayesian committee machine whose members all use the prior: one round of
// Optimisation, combined as the product of the posteriors over the M-1 copies of the
// prior that are too many.
type BCMSame struct{ Optimisation }

// BCMSplit is BCMSame with the M-th root of the prior at each of M members.
type BCMSplit struct {
	Optimisation
	Parties int // M
}

// traits is what the strategies differ in.
type traits struct {
	sharded   bool // a term is a shard's update; otherwise a party has one part
	local     bool // the noise is always at the party
	records   bool // a term is a record's vector, noised in every step
	iterative bool // it has optimiser steps under every model
	once      bool // it has one round
}

var traitsOf = map[StrategyName]traits{
	NameDataset:      {},
	NameVirtual:      {sharded: true},
	NameAveraging:    {sharded: true},
	NamePerturbation: {local: true},
	NameOptimisation: {local: true, records: true, iterative: true},
	NameAnalytic:     {local: true, records: true},
	NameHybrid:       {local: true, records: true, iterative: true},
	NameBCMSame:      {local: true, records: true, iterative: true, once: true},
	NameBCMSplit:     {local: true, records: true, iterative: true, once: true},
}

// traits returns the zero value without a strategy.
func (c Config) traits() traits { return traitsOf[c.name()] }

// name returns the strategy's name, empty without one.
func (c Config) name() StrategyName {
	if c.Strategy == nil {
		return ""
	}
	return c.Strategy.Name()
}

// params returns the strategy's parameters, zero without a strategy.
func (c Config) params() Params {
	if c.Strategy == nil {
		return Params{}
	}
	return c.Strategy.Params()
}

// Name implements Strategy.
func (Dataset) Name() StrategyName { return NameDataset }

// Name implements Strategy.
func (Virtual) Name() StrategyName { return NameVirtual }

// Name implements Strategy.
func (Averaging) Name() StrategyName { return NameAveraging }

// Name implements Strategy.
func (Perturbation) Name() StrategyName { return NamePerturbation }

// Name implements Strategy.
func (Optimisation) Name() StrategyName { return NameOptimisation }

// Name implements Strategy.
func (Analytic) Name() StrategyName { return NameAnalytic }

// Name implements Strategy.
func (hybrid) Name() StrategyName { return NameHybrid }

// Name implements Strategy.
func (BCMSame) Name() StrategyName { return NameBCMSame }

// Name implements Strategy.
func (BCMSplit) Name() StrategyName { return NameBCMSplit }

// Released reports whether a party's factor is the sum of its own released updates: one
// public factor for each party. Otherwise every shard has a private one.
func (c Config) Released() bool { return c.params().Local && c.factors() == FactorsNoisy }

// rows returns how many vectors a state and a memo have.
func (c Config) rows() int {
	if c.Released() {
		return 1
	}
	if c.spare.kept {
		return c.params().Shards + 1
	}
	return c.params().Shards
}

// stepped reports whether the strategy works on single records, not by a site's Update.
func (c Config) stepped() bool { return c.traits().records }

func (p Params) sdUnit() float64 {
	if p.SDUnit == 0 {
		return 1
	}
	return p.SDUnit
}

// copies returns how many times a shard counts its own data: as often as there are
// shards where each of them represents the whole party.
func (c Config) copies() int {
	if c.name() == NameAveraging {
		return max(c.params().Shards, 1)
	}
	return 1
}
