package workshop

import (
	"context"
	"fmt"
	"math"

	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/session/terms"
)

// Choir's setting of the same method: the same order of arrival, one factor and all of
// its noise at every client, the same accountant, other steps. See search.go.
const (
	ourRate  = 0.1
	ourSteps = 5
	ourClip  = 2.5
	ourStep  = 1.5e-4 // of a client with the mean number of records
	ourPower = 0.75
)

// ourUpdates is how many updates every client sends: as in the paper, a larger budget
// buys more of them.
func ourUpdates(epsilon float64) int { return int(math.Round(120*epsilon)) - 20 }

// ours is a client's configuration. A client of few records has the same noise in its
// gradient as one of many and less signal, so that its steps are shorter by a power of its
// public share.
func ours(features int, share float64) pvi.Config {
	return pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Optimisation{Steps: ourSteps,
			LearningRate: ourStep * math.Pow(share*clients, ourPower), Optimiser: pvi.SGD, SDUnit: 0.2,
			Sampling: pvi.SamplingPoisson, SampleRate: ourRate},
		Features: features, PriorPrecision: 1, PrecisionFloor: 1, DampingBits: 16,
		Damping: 0.4, DampingDecay: 0.005, Clip: ourClip, FracBits: terms.GridFor(ourClip),
		StartPrecision: 300,
	}
}

// noiseWithin is the least noise, over the clip, whose releases stay within epsilon by the
// authors' accountant: to one part in 10^4, and never below.
func noiseWithin(epsilon, delta float64, releases int) float64 {
	meets := func(sigma float64) bool {
		e, _ := privacy.MomentsEpsilon(sigma, ourRate, releases, delta, orders)
		return e <= epsilon
	}
	lo, hi := 0.5, 1.0
	for !meets(hi) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-4*hi {
		if mid := (lo + hi) / 2; meets(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// ours runs the authors' method with Choir's setting within their accountant's budget.
func (d distribution) ours(ctx context.Context, o study.Options, data *experiment.Data, epsilon float64,
	seed uint64) (s scores, spent study.Spent, err error) {
	run, updates := arrival{name: "workshop ours", curve: epsilon == 1}, ourUpdates(epsilon)
	releases, noise := ourSteps*updates, map[float64]float64{}
	for i := range clients {
		if noise[d.delta(i)] == 0 {
			noise[d.delta(i)] = noiseWithin(epsilon, d.delta(i), releases)
		}
		c := client{config: ours(data.Schema.Dim(), data.Weights()[i]), noise: noise[d.delta(i)],
			updates: updates}
		if o.Quick {
			c.updates = 1
		}
		run.clients = append(run.clients, c)
	}
	large, delta := run.clients[clients-1], d.delta(clients-1)
	moments, _ := privacy.MomentsEpsilon(large.noise, ourRate, releases, delta, orders)
	tight, replaced, err := accounts(large.noise, ourRate, releases, delta)
	if err != nil {
		return s, spent, err
	}
	spent = study.Spent{Method: fmt.Sprintf("DP-PVI with our steps, %s, epsilon %g", d.name, epsilon),
		Epsilon: moments, Delta: delta, Accountant: "moments, orders to 32", Relation: "add-remove",
		Noise: fmt.Sprintf("standard deviation %.4g C at every client by itself; %d updates of %d steps, "+
			"Poisson samples at rate %g (large clients). The same noise by Choir's accountant: %.3f "+
			"add-remove, %.3f replace-one",
			large.noise, updates, ourSteps, ourRate, tight, replaced)}
	s, err = run.do(ctx, o, data, seed)
	return s, spent, err
}
