package workshop

import (
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/session/terms"
)

// The authors' setting (their Tables 1 and 3). Their losses are scaled by n/L with L/n =
// q, so that their clip of 75 is 75 q = 1.5 for one record's own gradient.
const (
	clients = 10
	sigma   = 5    // noise over clip
	rate    = 0.02 // q
	steps   = 25   // of the local optimiser, for each update
	clip    = 1.5
	orders  = 32
)

// distribution is a row of the authors' Table 1.
type distribution struct {
	name       string
	rho, kappa float64
	deltas     [2]float64 // of small and of large clients
}

func distributions() []distribution {
	return []distribution{{"A", 0, 0, [2]float64{1e-4, 1e-4}}, {"B", 0.9, 0.95, [2]float64{1e-3, 1e-4}},
		{"C", 0.7, -3, [2]float64{1e-4, 1e-4}}}
}

// updates is how many updates a client may send within epsilon, by the authors'
// accountant.
func updates(epsilon, delta float64) int {
	lo, hi := 0, 1
	for within(hi, epsilon, delta) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; within(mid, epsilon, delta) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func within(updates int, epsilon, delta float64) bool {
	e, _ := privacy.MomentsEpsilon(sigma, rate, steps*updates, delta, orders)
	return e <= epsilon
}

// accounts is what noise costs by Choir's accountant: add-remove neighbours as the
// authors have them, and replace-one.
func accounts(noise, rate float64, releases int, delta float64) (addRemove, replaceOne float64, err error) {
	q := privacy.Query{Mechanism: privacy.Gaussian, Sigma: noise, Clip: 1, Relation: privacy.AddRemove,
		Steps: releases, Delta: delta, Rate: rate, Sampling: privacy.SamplingPoisson}
	a, err := privacy.Account(q)
	if err != nil {
		return 0, 0, err
	}
	q.Relation = privacy.ReplaceOne
	b, err := privacy.Account(q)
	return a.Epsilon, b.Epsilon, err
}

// delta is a client's: the first half are the small ones.
func (d distribution) delta(client int) float64 { return d.deltas[min(1, 2*client/clients)] }

// publishedStep is the first of the authors' steps.
const publishedStep = 0.5

// published is the authors' method in Choir's terms: Adagrad on per-record gradients with
// secret Poisson samples, every client with all of its noise by itself, from the prior.
func published(features int) pvi.Config { return adagrad(features, publishedStep, 0) }

// shorter is the same with steps that suit it better, from a state of that precision.
func shorter(features int) pvi.Config { return adagrad(features, 0.03, 100) }

func adagrad(features int, step, start float64) pvi.Config {
	return pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Optimisation{Steps: steps, LearningRate: step, Optimiser: pvi.Adagrad,
			Sampling: pvi.SamplingPoisson, SampleRate: rate},
		Features: features, PriorPrecision: 1, PrecisionFloor: 1, DampingBits: 16,
		Damping: 0.1, Clip: clip, FracBits: terms.GridFor(clip), StartPrecision: start,
	}
}
