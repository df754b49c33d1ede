package pvi

import (
	"slices"
	"strings"
)

// Strategy says what a party computes and where its privacy comes from.
type Strategy string

// The strategies. Those that clip shards' updates may have their noise on the sum
// over all parties or, with Method.Local, at every party; the others have it at
// every party. The theorems are in docs/methods.md.
const (
	// Dataset is one factor per party: the thesis's Algorithm 3 in its honest form,
	// that is with the noise kept out of the factor.
	Dataset Strategy = "dataset"
	// Virtual is Shards factors per party, each with a part of its data: Paper IV, Algorithm 3.
	Virtual Strategy = "virtual"
	// Averaging is Paper IV's Algorithm 2 in a form with a proof: each shard fits
	// the whole of its party's factor to its own part of the data, counted Shards
	// times, and the party sends the mean of the clipped updates. Clip bounds an
	// update before the mean is taken.
	Averaging Strategy = "averaging"
	// Perturbation is Paper IV's naive parameter perturbation: the party's clipped
	// update with its own full noise, which its factor takes in.
	Perturbation Strategy = "perturbation"
	// Optimisation is Paper IV's DP optimisation: Steps noisy gradient steps on the
	// local free energy, every record's gradient clipped to Clip.
	Optimisation Strategy = "optimisation"
	// Analytic is the thesis's section 4.2.2: linear regression whose update is a
	// noisy sum of the records' clipped natural parameters.
	Analytic Strategy = "analytic"
	// Hybrid is the thesis's section 4.2.3: a party's first round starts with
	// Analytic's sum and goes on with Optimisation's steps.
	Hybrid Strategy = "hybrid"
	// BCMSame is the Bayesian committee machine whose members all use the prior:
	// one round of Optimisation, combined as the product of the posteriors over the
	// prior's M-1 superfluous copies.
	BCMSame Strategy = "bcm-same"
	// BCMSplit is BCMSame with the M-th root of the prior at each of M members.
	BCMSplit Strategy = "bcm-split"
)

// traits is what the strategies differ in.
type traits struct {
	sharded   bool // a term is a shard's update; otherwise a party has one part
	local     bool // the noise is always at the party
	records   bool // a term is a record's vector, noised in every step
	iterative bool // it takes optimiser steps whatever the model is
	once      bool // it has one round
}

var strategies = map[Strategy]traits{
	Dataset:      {},
	Virtual:      {sharded: true},
	Averaging:    {sharded: true},
	Perturbation: {local: true},
	Optimisation: {local: true, records: true, iterative: true},
	Analytic:     {local: true, records: true},
	Hybrid:       {local: true, records: true, iterative: true},
	BCMSame:      {local: true, records: true, iterative: true, once: true},
	BCMSplit:     {local: true, records: true, iterative: true, once: true},
}

// Local tells whether the strategy's noise is always at every party, whoever else
// might add some: a configuration with it has Method.Local set.
func (s Strategy) Local() bool { return strategies[s].local }

func (c Config) traits() (traits, bool) {
	t, known := strategies[c.Strategy]
	return t, known
}

func strategyNames() string {
	var names []string
	for s := range strategies {
		names = append(names, string(s))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
