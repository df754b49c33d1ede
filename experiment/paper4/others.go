package paper4

import (
	"context"
	"fmt"

	"choir/experiment/published"
	"choir/experiment/study"
	"choir/pvi"
	"choir/session"
)

// Others is the study of the rest of Figure 1: local averaging, and the committees of a
// single round.
func Others() study.Study {
	c := others()
	return study.Study{Name: c.name, About: "Paper IV, Figure 1: its other methods, local averaging and the Bayesian committee machines", Run: c.runOthers}
}

func others() comparison {
	a := averaging(pvi.Config{Shards: 2442, Clip: 0.75, Damping: 0.18, PrecisionFloor: 100, Method: pvi.Method{StartPrecision: 150}}, 20)
	same := committee(pvi.BCMSame, "BCM same", pvi.Config{Steps: 100, LearningRate: 3e-4, Clip: 2, Method: pvi.Method{Optimiser: pvi.SGD, SampleRate: 0.1}})
	split := committee(pvi.BCMSplit, "BCM split", pvi.Config{Steps: 100, LearningRate: 3e-4, Clip: 2, Method: pvi.Method{Optimiser: pvi.SGD, SampleRate: 0.1}})
	return comparison{name: "paper4-adult-others", title: "Logistic regression on Adult, 10 clients, (1, 1e-5): averaging and committees", figure: "Figure 1", parties: 10, epsilon: 1,
		train: 0.5, splits: splits(), methods: []method{a, same, split}, notes: []string{"Settings are first guesses after those of paper4-adult; the committees' weren't searched for, and split is about where the paper has it. Local averaging takes from the virtual clients what made them good, hardly any record to a shard and one natural-gradient step, " +
			"and has one thing beside: a shard fits as many copies of its own records as its client has shards, so that all clients have equally many and a small client's count for what they are."},
		about: []string{"The methods of Figure 1 that aren't in paper4-adult, on the same data and with the same accounting. " +
			"Local averaging is the form with a proof (docs/methods.md, section 7), under joint noise; the committees have one round and all of their noise at every client."}}
}

// averaging is local averaging with joint noise, one natural-gradient step of every shard.
// Config.Clip is a shard's share of the mean.
func averaging(c pvi.Config, rounds int) method {
	each := c.Clip
	c.Strategy, c.Optimiser, c.Steps, c.LearningRate, c.Clip, c.FracBits = pvi.Averaging, pvi.Natural, 1, 1, each*float64(c.Shards), session.GridFor(each)
	return method{name: "local averaging", paper: "local averaging, trusted aggregator", rounds: rounds, app: func(t task) session.App { return t.pvi(c) },
		settings: fmt.Sprintf("%d rounds, %d shards at every client, one natural-gradient step, C %g for a shard's part of the mean, damping %g, precision %g to start with, precisions of at least %g",
			rounds, c.Shards, each, c.Damping, c.StartPrecision, c.PrecisionFloor)}
}

// committee is one round of DP optimisation at every client by itself.
func committee(s pvi.Strategy, name string, c pvi.Config) method {
	c.Strategy, c.Shards, c.Local, c.Sampling, c.Damping = s, 1, true, pvi.SamplingPoisson, 1
	return method{name: name, paper: name, rounds: 1, app: func(t task) session.App {
		c := c
		if s == pvi.BCMSplit {
			c.Parties = t.parties
		}
		return t.pvi(c)
	}, settings: fmt.Sprintf("%d steps of %s at %g, Poisson samples at rate %g, C %g a record", c.Steps, c.Optimiser, c.LearningRate, c.SampleRate, c.Clip)}
}

// runOthers runs it beside the figures of paper4-adult.
func (c comparison) runOthers(ctx context.Context, o study.Options) (*study.Result, error) {
	numbers, err := published.Of("paper4-adult")
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: c.name, Title: c.title, Seeds: o.Seeds, Transport: o.Transport, About: c.about, Notes: c.notes, Source: "Paper IV, " + c.figure}
	for _, s := range c.splits {
		if !o.Picks(s.name, "balanced", "unbalanced 1", "unbalanced 2") || o.Quick && s.name != c.splits[0].name {
			continue
		}
		var all []found
		for _, m := range c.methods {
			if !o.Picks(m.name, c.names()...) {
				continue
			}
			f, err := c.learn(ctx, o, m, s)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		c.add(r, numbers, s, all)
	}
	return r, nil
}
