package member

import (
	"slices"
	"sync"

	"choir/host"
	"choir/host/status"
	"choir/learn/evaluate"
	"choir/protocol"
	"choir/session/app"
)

// curve follows the evaluations among a session's rounds for the station. Those
// of an earlier run are in the store.
type curve struct {
	plan *protocol.Plan
	app  app.Spec
	show func(status.Evaluation)

	mu   sync.Mutex
	sums map[uint32][]int64 // of rounds that evaluate, until their result is noticed
}

// newCurve returns nil for a plan without an evaluation.
func newCurve(p *protocol.Plan, show func(status.Evaluation)) *curve {
	if p.Application == app.NameSum {
		return nil
	}
	a, err := app.Of(p)
	if err != nil || app.EvaluationOf(a) == nil {
		return nil
	}
	return &curve{plan: p, app: a, show: show, sums: map[uint32][]int64{}}
}

// folded keeps the sum of a round of the plan that evaluates.
func (c *curve) folded(round uint32, sum []int64) {
	p := c.plan
	if app.EvaluationOf(c.app).At(int(p.RoundsBefore()+round), int(p.AllRounds())) {
		c.mu.Lock()
		c.sums[round] = slices.Clone(sum)
		c.mu.Unlock()
	}
}

// notify shows the evaluation of a round that was accepted.
func (c *curve) notify(n protocol.Notice) {
	if c == nil || n.Code != protocol.NoteResult {
		return
	}
	c.mu.Lock()
	sum := c.sums[n.Round]
	delete(c.sums, n.Round)
	c.mu.Unlock()
	if sum != nil && n.Detail == protocol.OutcomeAccepted.String() {
		c.add([]app.Revealed{{Round: c.plan.RoundsBefore() + n.Round, Counted: n.Count, Sum: sum}})
	}
}

// add shows the evaluations in a trace. A trace that can't be read shows none: the result checks it.
func (c *curve) add(trace []app.Revealed) {
	points, err := app.Evaluations(c.plan, c.app, trace)
	if err != nil {
		return
	}
	for _, p := range points {
		c.show(evaluation(p))
	}
}

func evaluation(p evaluate.Point) status.Evaluation {
	three := func(i evaluate.Interval) [3]float64 { return [3]float64{i.Value, i.Low, i.High} }
	e := status.Evaluation{Round: uint32(p.Round), Parties: p.Parties, LogLikelihood: three(p.LogLikelihood)}
	if p.Accuracy != nil {
		e.Measure, e.Score = "accuracy", three(*p.Accuracy)
	} else {
		e.Measure, e.Score = "rmse", three(*p.RMSE)
	}
	return e
}

// past shows the evaluations of the member's earlier runs.
func (c *curve) past(m *Member, store *host.Scoped) {
	if c == nil {
		return
	}
	if trace, err := (exporter{m.Signed, m.Session, m.Index, store, ""}).trace(); err == nil {
		c.add(trace)
	}
}

// model is a model whose evaluations are followed.
func (c *curve) model(m protocol.Model) protocol.Model {
	if c == nil || m == nil {
		return m
	}
	return followedModel{m, c}
}

type followedModel struct {
	protocol.Model
	c *curve
}

// Fold implements protocol.Model.
func (f followedModel) Fold(round uint32, state, sum []int64) ([]int64, error) {
	f.c.folded(round, sum)
	return f.Model.Fold(round, state, sum)
}

// application is a party's side whose evaluations are followed.
func (c *curve) application(a protocol.Application) protocol.Application {
	if c == nil || a == nil {
		return a
	}
	return followedApplication{a, c}
}

type followedApplication struct {
	protocol.Application
	c *curve
}

// Fold implements protocol.Model.
func (f followedApplication) Fold(round uint32, state, sum []int64) ([]int64, error) {
	f.c.folded(round, sum)
	return f.Application.Fold(round, state, sum)
}
