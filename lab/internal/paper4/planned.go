package paper4

import (
	"choir/lab/experiment"
	"choir/lab/internal/task"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/session/app"
)

// planned is virtual clients with the planner's defaults.
func planned(like method) method {
	return method{name: "planned virtual clients", paper: like.paper, bars: like.bars, planned: true,
		settings: "what a plan has that names model, target, records and budget alone"}
}

// plan is the application of such a plan, and its rounds.
func plan(d *experiment.Data, epsilon float64) (app.Spec, int, error) {
	t, err := task.Terms("paper4", len(d.Parts), epsilon, false)
	if err != nil {
		return nil, 0, err
	}
	demo := experiment.Demo{Parties: len(d.Parts), Computes: 3, Epsilon: epsilon, Delta: 1e-5,
		Model: bayes.Logistic, Method: experiment.MethodPVI, Strategy: pvi.NameVirtual}
	return demo.Spec(t, d)
}
