package paper4

import (
	"fmt"

	"choir/learn/pvi"
	"choir/session/app"
)

// optimisation is DP optimisation with local noise: natural-gradient steps from noisy
// sums over each client's samples. One setting serves all splits.
func optimisation() method {
	o := pvi.Optimisation{Optimiser: pvi.Natural, SDUnit: 20, Steps: 5, LearningRate: 0.1,
		Sampling: pvi.SamplingPoisson, SampleRate: 0.1}
	c := pvi.Config{Strategy: o, Clip: 0.1, Damping: 0.5, DampingDecay: 0.1, PrecisionFloor: 100, StartPrecision: 300}
	const rounds = 20
	return method{name: "DP optimisation", paper: "DP optimisation", rounds: rounds,
		bars: bar(pair{0.845, -0.338}, pair{0.846, -0.336}, pair{0.845, -0.348}),
		app:  func(t task) app.Spec { return t.pvi(c) },
		settings: fmt.Sprintf("%d rounds of %d natural-gradient steps of %g, Poisson samples at rate %g, C %g a record in the posterior's own units, curvatures %g times as long, precision %g to start with, precisions of at least %g, damping %g / (1 + %g (s-1))",
			rounds, o.Steps, o.LearningRate, o.SampleRate, c.Clip, o.SDUnit, c.StartPrecision, c.PrecisionFloor, c.Damping, c.DampingDecay)}
}

// searchedOptimisation is what was found about DP optimisation, for the page.
func searchedOptimisation() []string {
	return []string{
		"**Why DP optimisation was below its bar, and what it gained.** The bar, .845/-.338, was measured on one half of Adult, the one that the authors' code always takes (numpy's permutation of seed 0, its second half trains). That half is an easy one: without privacy it gives .8543/-.3145, where our halves, another one for each seed, give .8516/-.3208. " +
			"On it the setting that this page had before (SGD of .00015, C 2.5, 20 rounds) gives .8453/-.3341 with five seeds: it wasn't the method that missed the bar. Study paper4-adult-half has the authors' half.",
		"What it gained comes from where the clip is. A gradient by (mean, log sd) is mostly as long as the record's frequent columns make it, and steps of SGD leave the noise of the last few steps in the posterior. Natural-gradient steps (docs/methods.md, section 5) measure a record in units of the current posterior, which is public, and average the noise of many steps. " +
			"Chosen with a floating-point prototype of the same scheme and noise on seeds 6 to 13, reported on seeds 1 to 5; the prototype's means, accuracy / log-likelihood, balanced split:\n\n" +
			"| setting | seeds 6 to 13 |\n|---|---|\n" +
			"| SGD as before | .8453/-.3333 |\n" +
			"| the same without noise | .8459/-.3288 |\n" +
			"| SGD, gradients in units of sd^0.3 or sd^0.5 | .8460/-.3340, .8464/-.3363 |\n" +
			"| natural gradients, not measured in units of the posterior, 100 rounds of a step of .1, precisions of at least 200 | .8455/-.3362 |\n" +
			"| measured in units of sd^0.5 | .8484/-.3320 |\n" +
			"| sd^0.75, the same in 20 rounds of 5 steps | .8494/-.3306, .8487/-.3294 |\n" +
			"| sd, C 0.1, curvatures 20 times as long: the setting above | .8493/-.3274 |\n" +
			"| curvatures 10 times | .8492/-.3278 |\n" +
			"| precisions of at least 1, 50, 150 | .8488/-.3292, .8492/-.3284, .8490/-.3276 |\n" +
			"| precision 150 to start with | .8494/-.3290 |\n" +
			"| steps of .2, damping .3 | .8492/-.3277 |\n" +
			"| unbalanced 1, unbalanced 2 | .8491/-.3269, .8491/-.3268 |",
	}
}
