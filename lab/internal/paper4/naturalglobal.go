package paper4

import (
	"fmt"

	"choir/lab/internal/task"
	"choir/session/app"
	sessionterms "choir/session/terms"
)

// naturalGlobal is global inference by natural-gradient steps: a twentieth of the rounds
// that Adam takes.
func naturalGlobal() method {
	const rounds = 50
	s := sessionterms.NaturalGlobal(1, 1)
	return method{name: "global VI by natural gradients", paper: "global VI, trusted aggregator",
		rounds: rounds,
		bars:   bar(pair{0.849, -0.328}, pair{0.849, -0.328}, pair{0.849, -0.328}),
		app: func(t task.Task) app.Spec {
			c := sessionterms.NaturalGlobal(t.Features, int64(t.Rows))
			c.MaxRecords = int64(2 * t.Rows)
			return t.GlobalVI(c)
		},
		settings: fmt.Sprintf("%d rounds, joint Poisson samples at rate %g, C %g a record in the "+
			"posterior's own units, log standard deviations' part %g times as long, steps of %g / (1 + "+
			"%g (s-1)), first standard deviation %g, precisions of at least %g",
			rounds, s.SampleRate, s.Clip, s.SDUnit, s.LearningRate, s.RateDecay, s.InitialSD,
			s.PrecisionFloor)}
}
