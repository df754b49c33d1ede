package paper4

import (
	"fmt"

	"choir/lab/internal/task"
	"choir/learn/pvi"
	"choir/session/app"
)

// optimisation is DP optimisation with local noise: natural-gradient steps from noisy
// sums over each client's samples. One setting serves all splits.
func optimisation() method {
	o := pvi.Optimisation{Optimiser: pvi.Natural, SDUnit: 20, Steps: 5, LearningRate: 0.1,
		Sampling: pvi.SamplingPoisson, SampleRate: 0.1}
	c := pvi.Config{Strategy: o, Clip: 0.1, Damping: 0.5, DampingDecay: 0.1, PrecisionFloor: 100,
		StartPrecision: 300}
	const rounds = 20
	return method{name: "DP optimisation", paper: "DP optimisation", rounds: rounds,
		bars: bar(pair{0.845, -0.338}, pair{0.846, -0.336}, pair{0.845, -0.348}),
		app:  func(t task.Task) app.Spec { return t.PVI(c) },
		settings: fmt.Sprintf("%d rounds of %d natural-gradient steps of %g, Poisson samples at rate %g, "+
			"C %g a record in the posterior's own units, curvatures %g times as long, precision %g to "+
			"start with, precisions of at least %g, damping %g / (1 + %g (s-1))",
			rounds, o.Steps, o.LearningRate, o.SampleRate, c.Clip, o.SDUnit, c.StartPrecision,
			c.PrecisionFloor, c.Damping, c.DampingDecay)}
}
