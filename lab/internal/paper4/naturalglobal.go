package paper4

import (
	"fmt"

	"choir/lab/internal/task"
	"choir/learn/global"
	"choir/session/app"
	sessionterms "choir/session/terms"
)

// naturalGlobal is global inference by natural-gradient steps: a twentieth of the rounds
// that Adam takes.
func naturalGlobal() method {
	const rounds = 50
	s := global.Config{InitialSD: 0.06, Clip: 0.15, SampleRate: 0.1, Optimiser: global.Natural,
		LearningRate: 0.2, RateDecay: 0.1, SDUnit: 20, PrecisionFloor: 50}
	return method{name: "global VI by natural gradients", paper: "global VI, trusted aggregator",
		rounds: rounds,
		bars:   bar(pair{0.849, -0.328}, pair{0.849, -0.328}, pair{0.849, -0.328}),
		app: func(t task.Task) app.Spec {
			c := s
			c.MaxRecords = int64(2 * t.Rows)
			c.FracBits = sessionterms.GridFor(c.Clip) + 3 // sums of many rounded records
			return t.GlobalVI(c)
		},
		settings: fmt.Sprintf("%d rounds, joint Poisson samples at rate %g, C %g a record in the "+
			"posterior's own units, log standard deviations' part %g times as long, steps of %g / (1 + "+
			"%g (s-1)), first standard deviation %g, precisions of at least %g",
			rounds, s.SampleRate, s.Clip, s.SDUnit, s.LearningRate, s.RateDecay, s.InitialSD,
			s.PrecisionFloor)}
}
