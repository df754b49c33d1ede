package app_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// folded runs the parties' sides with sums in the clear and returns the trace and the last state.
func folded(t *testing.T, c rig.AppCase, p *protocol.Plan) (trace []app.Revealed, state []int64) {
	t.Helper()
	m := c.App.Model(p)
	state = m.Initial()
	var parties []app.Party
	var own [][]byte
	for i, d := range c.Parts {
		side, err := c.App.Join(app.PartyConfig{Plan: p, Party: uint32(i), Data: d})
		if err != nil {
			t.Fatal(err)
		}
		parties = append(parties, side)
		own = append(own, side.InitialState())
	}
	var opened []protocol.Opened
	for round := uint32(1); round <= p.Rounds; round++ {
		sum := make([]int64, p.Dim)
		for i, side := range parties {
			v, memo, err := side.Propose(t.Context(), protocol.Work{Round: round, Attempt: 1, Model: state,
				State: own[i], Opened: opened})
			if err != nil {
				t.Fatal(err)
			}
			for j := range v {
				sum[j] += v[j]
			}
			if own[i], err = side.Settle(round, own[i], memo); err != nil {
				t.Fatal(err)
			}
		}
		trace = append(trace, app.Revealed{Round: round, Counted: len(parties), Before: state, Sum: sum})
		opened = append(opened, protocol.Opened{Round: round, Counted: len(parties), Before: state, Sum: sum})
		var err error
		if state, err = m.Fold(round, state, sum); err != nil {
			t.Fatal(err)
		}
	}
	return trace, state
}

// TestEvaluation: rounds evaluate the state before them on exactly the held-out records, and no
// held-out record changes what is learnt.
func TestEvaluation(t *testing.T) {
	c := rig.AppCases(t)["evaluated"]
	p := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session.Plan
	e := app.EvaluationOf(c.App)
	trace, state := folded(t, c, p)
	points, err := app.Evaluations(p, c.App, trace)
	if err != nil || len(points) != 2 || points[0].Round != 3 || points[1].Round != 5 {
		t.Fatalf("%+v, %v", points, err)
	}
	var held bayes.Data
	for _, d := range c.Parts {
		_, h := e.Split(d)
		held.X = append(held.X, h.X...)
		held.Y = append(held.Y, h.Y...)
	}
	q, err := c.App.Posterior(p, state)
	if err != nil {
		t.Fatal(err)
	}
	want, err := q.Evaluate(held)
	if err != nil {
		t.Fatal(err)
	}
	last := points[1]
	if math.Abs(last.Accuracy.Value-want.Accuracy) > 1e-6 ||
		math.Round(last.Records.Value) != float64(want.Rows) ||
		math.Abs(last.LogLikelihood.Value-want.LogLikelihood) > 1e-4 {
		t.Errorf("%+v, want %+v", last, want)
	}

	changed := c
	changed.Parts = slices.Clone(c.Parts)
	d := c.Parts[1]
	y := slices.Clone(d.Y)
	n := 0
	for i := range y {
		if train, _ := e.Split(bayes.Data{X: d.X[:4*(i+1)], Y: d.Y[:i+1]}); train.Rows() == 0 || i > 0 &&
			train.Rows() == rowsBefore(c, d, i) {
			y[i] = 1 - y[i]
			n++
		}
	}
	changed.Parts[1] = bayes.Data{X: d.X, Y: y}
	other, after := folded(t, changed, p)
	if n == 0 || !slices.Equal(after, state) {
		t.Errorf("%d held-out records changed what was learnt", n)
	}
	if slices.Equal(other[4].Sum, trace[4].Sum) {
		t.Error("held-out records don't change the evaluation")
	}
}

// TestEvaluationOfTheExported: under noise the last round scores the posterior that the session exports,
// not the one that learning goes by.
func TestEvaluationOfTheExported(t *testing.T) {
	c := rig.AppCases(t)["evaluated"]
	c.App.(*app.PVI).PVI.Strategy = pvi.Virtual{Shards: 5, Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 5,
		LearningRate: 1}}
	p := c.Plan(t, protocol.NoiseParty, func(*terms.Terms) {}).Session.Plan
	trace, state := folded(t, c, p)
	points, err := app.Evaluations(p, c.App, trace)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.App.NoiseAware(p, trace)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := c.App.Posterior(p, state)
	if err != nil {
		t.Fatal(err)
	}
	var held bayes.Data
	for _, d := range c.Parts {
		_, h := app.EvaluationOf(c.App).Split(d)
		held.X = append(held.X, h.X...)
		held.Y = append(held.Y, h.Y...)
	}
	want, err := q.Evaluate(held)
	if err != nil {
		t.Fatal(err)
	}
	other, err := plain.Evaluate(held)
	if err != nil {
		t.Fatal(err)
	}
	got := points[len(points)-1].LogLikelihood.Value
	if math.Abs(got-want.LogLikelihood) > 1e-4 || math.Abs(other.LogLikelihood-want.LogLikelihood) < 1e-3 {
		t.Errorf("log-likelihood %v, the exported posterior's is %v, the other's %v", got, want.LogLikelihood,
			other.LogLikelihood)
	}
}

// rowsBefore is the number of the first i records that are learnt from.
func rowsBefore(c rig.AppCase, d bayes.Data, i int) int {
	train, _ := app.EvaluationOf(c.App).Split(bayes.Data{X: d.X[:4*i], Y: d.Y[:i]})
	return train.Rows()
}

// TestEvaluationRefused: what can't be evaluated under the plan's privacy is refused with the
// reason.
func TestEvaluationRefused(t *testing.T) {
	cases := rig.AppCases(t)
	e := app.EvaluationOf(cases["evaluated"].App)
	list, _ := rig.Members(t, 3, 2)
	for name, want := range map[string]string{"optimisation": "each party's own", "global": "sample_rate 1",
		"perturbation": "each party's own"} {
		t.Run(name, func(t *testing.T) {
			c := cases[name]
			if !app.Evaluate(c.App, e) {
				t.Fatal("no evaluation")
			}
			ts := rig.Terms(list)
			ts.Rounds, ts.Noise, ts.Epsilon, ts.Delta = c.Rounds, c.Noise, 1, 1e-5
			if _, err := ts.Plan(c.App); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	if app.Evaluate(cases["mcmc"].App, e) {
		t.Error("a sampler got an evaluation")
	}
	for name, spoil := range map[string]func(*terms.Terms, *app.PVI){
		"round": func(ts *terms.Terms, _ *app.PVI) { ts.Rounds = 1 },
		"every": func(_ *terms.Terms, l *app.PVI) { l.Evaluation.Every = 0 },
		"missing": func(_ *terms.Terms, l *app.PVI) {
			s, err := l.Encoding()
			if err != nil {
				t.Fatal(err)
			}
			s.Missing = dataset.Drop
			if l.Schema, err = s.Canonical(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := *cases["virtual"].App.(*app.PVI)
			own := *e
			l.Evaluation = &own
			ts := rig.Terms(list)
			ts.Rounds, ts.Noise = 5, protocol.NoiseNone
			spoil(&ts, &l)
			if _, err := ts.Plan(&l); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, want %q", err, name)
			}
		})
	}
}
