// Package settings tries the default settings off the point that they were found at: from 3 to
// 100 parties, at epsilons from 0.5 to 8, by every way of learning a logistic regression.
package settings

import (
	"context"
	"fmt"
	"slices"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/result"
	"choir/session/terms"
)

// Study is the table of docs/settings.md.
func Study() study.Study {
	return study.Study{Name: "settings", Run: sweep,
		About: "default settings from 3 to 100 parties and epsilon 0.5 to 8, against the majority class"}
}

// statistics is linear regression as a plan without a strategy has it.
const statistics = "statistics"

// way is one way of learning.
type way struct {
	name     string
	strategy pvi.StrategyName
	method   experiment.Method
	linear   bool
}

func ways() []way {
	return []way{
		{name: "virtual", strategy: pvi.NameVirtual, method: experiment.MethodPVI},
		{name: "dataset", strategy: pvi.NameDataset, method: experiment.MethodPVI},
		{name: "optimisation", strategy: pvi.NameOptimisation, method: experiment.MethodPVI},
		{name: "global", method: experiment.MethodGlobal},
		{name: statistics, method: experiment.MethodStatistics, linear: true},
	}
}

// picked are the ways that are to be run.
func picked(o study.Options) (all []way) {
	names := make([]string, 0, len(ways()))
	for _, w := range ways() {
		names = append(names, w.name)
	}
	for _, w := range ways() {
		if o.Picks(w.name, names...) {
			all = append(all, w)
		}
	}
	return all
}

// cell is a number of parties and a budget.
type cell struct {
	parties int
	epsilon float64
}

func (c cell) String() string { return fmt.Sprintf("%d parties, epsilon %g", c.parties, c.epsilon) }

func cells(quick bool) (all []cell) {
	if quick {
		return []cell{{3, 0.5}, {50, 2}}
	}
	for _, n := range []int{3, 5, 10, 20, 30, 50, 100} {
		for _, e := range []float64{0.5, 1, 2, 8} {
			all = append(all, cell{n, e})
		}
	}
	return all
}

// rowsEach are a party's rows, of which four fifths train.
const rowsEach = 375

// outcome is one run.
type outcome struct {
	Scores   experiment.Scores
	Majority experiment.Scores
	Named    bool // as swamped or diverged
}

// holds reports whether the run is as good as the majority, or named.
func (o outcome) holds() bool {
	return o.Named || o.Scores.LogLikelihood >= o.Majority.LogLikelihood-0.01
}

// try runs one cell with the defaults, summing in the clear.
func try(ctx context.Context, d *experiment.Data, c cell, w way, seed uint64) (o outcome, err error) {
	demo := experiment.Demo{Parties: c.parties, Computes: 3, Epsilon: c.epsilon, Delta: 1e-5,
		Model: bayes.Logistic, Method: w.method, Strategy: w.strategy}
	if w.linear {
		demo.Model = bayes.Linear
	}
	t, err := task.Terms("settings", c.parties, c.epsilon, w.strategy.Local())
	if err != nil {
		return o, err
	}
	spec, rounds, err := demo.Spec(t, d)
	if w.name == statistics {
		spec, rounds, err = terms.LearningConfig{Records: int64(d.Train.Rows())}.Spec(t, d.Schema)
	}
	if err != nil {
		return o, err
	}
	var states [][]int64
	out, err := bed.Run{Name: "settings " + w.name, Seed: seed, App: spec, Parts: d.Parts, Rounds: rounds,
		Epsilon: c.epsilon, Delta: 1e-5, States: func(_ *protocol.Plan, _ int, state []int64) error {
			states = append(states, slices.Clone(state))
			states = states[max(0, len(states)-3):]
			return nil
		}}.Do(ctx)
	if err != nil {
		return o, err
	}
	s, err := out.Last.Evaluate(d.Test)
	if err != nil {
		return o, err
	}
	o.Scores = experiment.Scores{Accuracy: s.Accuracy, LogLikelihood: s.LogLikelihood}
	o.Majority = d.Majority(w.linear)
	warnings, err := result.Warnings(out.Plan, states...)
	o.Named = len(warnings) > 0
	return o, err
}

func load(c cell, linear bool, seed uint64) (*experiment.Data, error) {
	s := experiment.Source{Rows: rowsEach * c.parties, Seed: seed, Parties: c.parties, Rho: 0.5, Train: 0.8,
		Linear: linear}
	return s.Load()
}

// newResult is the study's result without its rows.
func newResult(o study.Options) *study.Result {
	return &study.Result{
		SchemaVersion: 1,
		Name:          "settings",
		Title:         "Default settings off their point",
		Seeds:         o.Seeds,
		Transport:     bed.Clear,
		Source:        "none: generated data",
		About: []string{fmt.Sprintf("Generated classes, %d rows a party to learn from, delta 1e-5, every "+
			"setting the plan's default.", rowsEach*4/5)},
	}
}

// baseline is what a way is held against: the majority class, or the mean of the targets.
func (w way) baseline() string {
	if w.linear {
		return "mean"
	}
	return "majority"
}

// tally counts runs.
type tally struct{ runs, named, broken int }

func sweep(ctx context.Context, o study.Options) (*study.Result, error) {
	r := newResult(o)
	all := cells(o.Quick)
	o = o.Begin(len(all) * len(o.Each()))
	var count tally
	for _, c := range all {
		rows := map[string]*study.Row{}
		var order []string
		row := func(name string) *study.Row {
			if rows[name] == nil {
				rows[name] = &study.Row{Case: c.String(), Method: name, Measure: study.LogLikelihood}
				order = append(order, name)
			}
			return rows[name]
		}
		for _, seed := range o.Each() {
			if err := c.tryAll(ctx, picked(o), uint64(seed), row, &count); err != nil {
				return nil, err
			}
			o.Tell(fmt.Sprintf("%s, seed %d", c, seed))
		}
		for _, name := range order {
			r.Rows = append(r.Rows, rows[name].Mean())
		}
	}
	r.Notes = []string{fmt.Sprintf("%d runs. %d are named as swamped, outweighed or diverged (a star each). "+
		"%d are worse than the majority class, or the mean of the targets, by more than 0.01 in log-likelihood "+
		"without being named.", count.runs, count.named, count.broken)}
	return r, nil
}

// tryAll runs a cell by all ways on one seed's data.
func (c cell) tryAll(ctx context.Context, tried []way, seed uint64, row func(name string) *study.Row,
	count *tally) error {
	data := map[bool]*experiment.Data{}
	for _, w := range tried {
		if data[w.linear] == nil {
			d, err := load(c, w.linear, seed)
			if err != nil {
				return err
			}
			data[w.linear] = d
			base := row(w.baseline())
			base.Values = append(base.Values, d.Majority(w.linear).LogLikelihood)
		}
		one, err := try(ctx, data[w.linear], c, w, seed)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c, w.name, err)
		}
		to := row(w.name)
		to.Values = append(to.Values, one.Scores.LogLikelihood)
		count.runs++
		if one.Named {
			count.named++
			to.Why += "*"
		}
		if !one.holds() {
			count.broken++
		}
	}
	return nil
}
