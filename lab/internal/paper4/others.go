package paper4

import (
	"fmt"

	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/pvi"
	"choir/session/app"
	sessionterms "choir/session/terms"
)

// Others is the study of the rest of Figure 1: local averaging, and the committees of a
// single round.
func Others() study.Study {
	c := others()
	return study.Study{Name: c.name, About: "[DP-PVI], Figure 1: its other methods, local averaging and " +
		"the Bayesian committee machines", Run: c.run}
}

func others() comparison {
	a := averaging(2442, pvi.Config{Clip: 0.75, Damping: 0.18, PrecisionFloor: 100, StartPrecision: 150}, 20)
	same := committee("BCM same", committeeSteps(), false)
	split := committee("BCM split", committeeSteps(), true)
	return comparison{name: "paper4-adult-others", published: "paper4-adult",
		title:  "Logistic regression on Adult, 10 clients, (1, 1e-5): averaging and committees",
		figure: "Figure 1", parties: 10, epsilon: 1,
		train: 0.5, splits: splits(), methods: []method{a, same, split}}
}

// averaging is local averaging with joint noise, one natural-gradient step of every shard.
// Config.Clip is a shard's share of the mean.
func averaging(shards int, c pvi.Config, rounds int) method {
	each := c.Clip
	c.Strategy = pvi.Averaging{Shards: shards, Fit: task.OneStep()}
	c.Clip, c.FracBits = each*float64(shards), sessionterms.GridFor(each)
	return method{name: "local averaging", paper: "local averaging, trusted aggregator", rounds: rounds,
		app: func(t task.Task) app.Spec { return t.PVI(c) },
		settings: fmt.Sprintf("%d rounds, %d shards at every client, one natural-gradient step, C %g for "+
			"a shard's part of the mean, damping %g, precision %g to start with, precisions of at least %g",
			rounds, shards, each, c.Damping, c.StartPrecision, c.PrecisionFloor)}
}

func committeeSteps() pvi.Optimisation {
	return pvi.Optimisation{Optimiser: pvi.SGD, Steps: 100, LearningRate: 3e-4,
		Sampling: pvi.SamplingPoisson, SampleRate: 0.1}
}

// committeeOf is the strategy of a Bayesian committee machine.
func committeeOf(o pvi.Optimisation, split bool, parties int) pvi.Strategy {
	if split {
		return pvi.BCMSplit{Optimisation: o, Parties: parties}
	}
	return pvi.BCMSame{Optimisation: o}
}

// committee is one round of DP optimisation at every client by itself.
func committee(name string, o pvi.Optimisation, split bool) method {
	const clip = 2
	return method{name: name, paper: name, rounds: 1, app: func(t task.Task) app.Spec {
		return t.PVI(pvi.Config{Strategy: committeeOf(o, split, t.Parties), Clip: clip, Damping: 1})
	}, settings: fmt.Sprintf("%d steps of %s at %g, Poisson samples at rate %g, C %g a record",
		o.Steps, o.Optimiser, o.LearningRate, o.SampleRate, float64(clip))}
}
