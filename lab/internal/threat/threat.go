// Package threat attacks the plans of the papers' methods on Adult.
package threat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"choir/attack/collude"
	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// Study measures what the strongest coalition that a plan tolerates learns of one record.
func Study() study.Study {
	return study.Study{Name: "threat-adult", Run: attackAll,
		About: "the papers' methods on Adult, attacked by the strongest coalition that their plans tolerate"}
}

// The terms of all plans.
const (
	parties   = 10
	computes  = 3
	colluders = 2
	epsilon   = 1
	delta     = 1e-5
)

// method is one way of learning.
type method struct {
	name     string
	strategy pvi.StrategyName
	method   experiment.Method
}

func methods(quick bool) []method {
	all := []method{
		{"dataset", pvi.NameDataset, experiment.MethodPVI},
		{"virtual", pvi.NameVirtual, experiment.MethodPVI},
		{"perturbation", pvi.NamePerturbation, experiment.MethodPVI},
		{"optimisation", pvi.NameOptimisation, experiment.MethodPVI},
		{"global", "", experiment.MethodGlobal},
	}
	if quick {
		return []method{all[0], all[3]}
	}
	return all
}

// picked are the methods that the options name, all if they name none.
func picked(o study.Options) (some []method, err error) {
	var names []string
	for _, m := range methods(o.Quick) {
		names = append(names, m.name)
		if len(o.Only) == 0 || slices.Contains(o.Only, m.name) {
			some = append(some, m)
		}
	}
	for _, name := range o.Only {
		if !slices.Contains(names, name) {
			return nil, protocol.Fail(protocol.ClassInput, "--only: %q is no method of threat-adult; name some of %s",
				name, strings.Join(names, ", "))
		}
	}
	return some, nil
}

// plan is a method's plan with its default settings.
func (m method) plan(d *experiment.Data) (*protocol.Plan, error) {
	demo := experiment.Demo{Parties: parties, Computes: computes, Epsilon: epsilon, Delta: delta,
		Model: bayes.Logistic, Method: m.method, Strategy: m.strategy}
	roster, err := run.NewRoster(nil, parties, computes)
	if err != nil {
		return nil, err
	}
	t := terms.Terms{Name: "threat-adult", Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Deadline: time.Minute, Grace: time.Second, Colluders: colluders, Noise: protocol.NoiseParty,
		Epsilon: epsilon, Delta: delta}
	if m.strategy.Local() {
		t.Noise = protocol.NoiseLocal
	}
	spec, rounds, err := demo.Spec(t, d)
	if err != nil {
		return nil, err
	}
	t.Rounds = rounds
	return t.Plan(spec)
}

// scenarios are the attacks; each is a row of the table.
const (
	membership = "membership"
	onAdult    = "membership of Adult's records"
	unnoised   = onAdult + ", no noise"
)

var scenarios = []string{"epsilon", "canaries", membership, "rank"}

func attackAll(ctx context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "threat-adult", Title: "The papers' methods under attack",
		Seeds: o.Seeds, Transport: study.Memory, Source: "none: attacks on plans with default settings, [SNJ23]",
		About: []string{fmt.Sprintf("Plans on Adult with default settings: %d parties, %d compute nodes, T = %d, "+
			"epsilon %d at delta %g. The coalition is the aggregator, %d compute nodes and %d parties, and for plans "+
			"with local noise, whose claim is for them, all compute nodes. Epsilon is a lower confidence limit from "+
			"sums of chosen vectors on the plan's terms.", parties,
			computes, colluders, epsilon, delta, computes-1,
			colluders+1)}}
	all, err := picked(o)
	if err != nil {
		return nil, err
	}
	o = o.Begin(len(all) * len(o.Each()))
	panel := study.Panel{Title: "one record, all rounds", XLabel: "false positive rate",
		YLabel: "true positive rate"}
	for _, m := range all {
		rows := map[string]*study.Row{}
		for _, seed := range o.Each() {
			p, out, err := m.attack(ctx, o, uint64(seed))
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", m.name, seed, err)
			}
			if rows["epsilon"] == nil {
				r.Spent = append(r.Spent, spent(m.name, p, out))
				panel.Curves = append(panel.Curves, curve(m.name, out))
			}
			collect(rows, m.name, out)
			o.Tell(fmt.Sprintf("%s, seed %d", m.name, seed))
		}
		for _, name := range append(scenarios[:len(scenarios):len(scenarios)], onAdult, unnoised) {
			if row := rows[name]; row != nil {
				r.Rows = append(r.Rows, row.Mean())
			}
		}
	}
	r.Panels = []study.Panel{panel}
	return r, nil
}

// attack runs the attacks on a method's plan.
func (m method) attack(ctx context.Context, o study.Options, seed uint64) (*protocol.Plan, *collude.Result,
	error) {
	from, err := experiment.Adult(o.DataDir)
	if err != nil {
		return nil, nil, err
	}
	from.Seed, from.Parties, from.Train = seed, parties, 0.5
	d, err := from.Load()
	if err != nil {
		return nil, nil, err
	}
	p, err := m.plan(d)
	if err != nil {
		return nil, nil, err
	}
	target, err := collude.TargetOf(p)
	if err != nil {
		return nil, nil, err
	}
	runs := 1 << 15
	if o.Quick {
		runs = 1 << 9
	}
	with := collude.Coalition{Parties: colluders + 1, Nodes: computes - 1, Aggregator: true}
	if p.Noise == protocol.NoiseLocal {
		with.Nodes = computes
	}
	run := collude.Options{Target: target, Runs: runs, Seed: seed, Scenarios: scenarios, Coalition: with}
	out, err := run.Execute(ctx)
	if err != nil {
		return nil, nil, err
	}
	run.Scenarios, run.Records = []string{membership}, experiment.Signed(d.Train.X, d.Train.Y, true)
	real, err := run.Execute(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range real.Verdicts {
		v.Scenario = onAdult
		out.Verdicts = append(out.Verdicts, v)
	}
	return p, out, nil
}

func spent(name string, p *protocol.Plan, out *collude.Result) study.Spent {
	s := study.Spent{Method: name, Epsilon: p.Epsilon, Delta: p.Delta, Accountant: p.Accountant,
		Relation: "replace-one", Noise: fmt.Sprintf("by each %s, over %d rounds", p.Noise, p.Rounds)}
	for _, v := range out.Verdicts {
		if v.Scenario == "epsilon" && !v.Control && v.Claimed != nil {
			s.Epsilon = *v.Claimed
		}
	}
	return s
}

func curve(name string, out *collude.Result) study.Curve {
	c := study.Curve{Name: name}
	for _, v := range out.Verdicts {
		if v.Scenario == "epsilon" && !v.Control && v.Detail != nil {
			for _, point := range v.Detail.ROC {
				c.X, c.Y = append(c.X, point[0]), append(c.Y, point[1])
			}
		}
	}
	return c
}

// collect adds what a seed's attacks measured: epsilon where it is the unit.
func collect(rows map[string]*study.Row, name string, out *collude.Result) {
	for _, v := range out.Verdicts {
		if v.Scenario == onAdult {
			area(rows, name, v)
			continue
		}
		if v.Control || v.Unit != "epsilon" || v.Measured == nil {
			continue
		}
		if rows[v.Scenario] == nil {
			rows[v.Scenario] = &study.Row{Case: name, Method: v.Scenario, Measure: study.EpsilonOf}
		}
		row := rows[v.Scenario]
		row.Values = append(row.Values, *v.Measured)
		if v.Verdict == collude.Broke {
			row.Why += "broke "
		}
	}
}

// area adds the area under the curve for the record of Adult that changes a sum most.
func area(rows map[string]*study.Row, name string, v collude.Outcome) {
	if v.Detail == nil || len(v.Detail.Records) == 0 {
		return
	}
	last := v.Detail.Records[len(v.Detail.Records)-1]
	method, ours := onAdult, last.AUC
	if v.Control {
		method, ours = unnoised, last.Unknown
	}
	if rows[method] == nil {
		rows[method] = &study.Row{Case: name, Method: method, Measure: "AUC"}
	}
	rows[method].Values = append(rows[method].Values, ours)
	if v.Verdict == collude.Broke && !v.Control {
		rows[method].Why += "broke "
	}
}
