package paper4

import (
	"cmp"
	"context"
	"fmt"

	"choir/lab/experiment"
	"choir/lab/internal/published"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/global"
	"choir/learn/pvi"
)

// comparison is Figure 1 or 3: logistic regression on Adult, three splits, several
// methods.
type comparison struct {
	name, title, figure string
	parties             int
	epsilon             float64
	train               float64 // share of the rows
	splits              []split
	methods             []method
	half                bool   // on the authors' half, for all seeds
	published           string // the study whose published numbers are used, if not name
	network             bool   // posteriors are of a network: no width
}

// Studies are the paper's experiments.
func Studies() []study.Study {
	return []study.Study{
		{Name: "paper4-adult", About: "[DP-PVI], Figure 1: logistic regression on Adult, 10 clients, (1, " +
			"1e-5)", Run: ten().run},
		{Name: "paper4-adult-half", About: "[DP-PVI], Figure 1 on the half of Adult that the authors' " +
			"code takes", Run: authorsHalf().run},
		{Name: "paper4-adult200", About: "[DP-PVI], Figure 3: the same with 200 clients, (1/2, 1e-5)",
			Run: twoHundred().run},
		{Name: "paper4-adult8020", About: "[DP-PVI], Figure 1 with the split of its text: 80 % train, 20 " +
			"% test", Run: eightyTwenty().run},
	}
}

// bar is what Choir set out to reach with a method on the three splits.
func bar(balanced, unbalanced1, unbalanced2 pair) map[string]pair {
	return map[string]pair{"balanced": balanced, "unbalanced 1": unbalanced1, "unbalanced 2": unbalanced2}
}

func ten() comparison {
	v := virtual(pvi.Config{Clip: 0.75, Damping: 0.18, PrecisionFloor: 100, StartPrecision: 150}, 1, 20)
	v.bars = bar(pair{0.843, -0.336}, pair{0.840, -0.345}, pair{0.842, -0.339})
	g := globalVI(global.Config{Clip: 3, SampleRate: 0.02, LearningRate: 0.015, InitialSD: 0.1,
		Averaging: 3}, 1000)
	g.bars = bar(pair{0.849, -0.328}, pair{0.849, -0.328}, pair{0.849, -0.328})
	return comparison{name: "paper4-adult", title: "Logistic regression on Adult, 10 clients, (1, 1e-5)",
		figure: "Figure 1", parties: 10, epsilon: 1,
		train: 0.5, splits: splits(), methods: []method{v, optimisation(), g, partitioned(), together(),
			naturalGlobal()}}
}

// found is what one method gave on one split, by seed.
type found struct {
	method method
	traces []*trace
}

func (c comparison) run(ctx context.Context, o study.Options) (*study.Result, error) {
	numbers, err := published.Of(cmp.Or(c.published, c.name))
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: c.name, Title: c.title, Seeds: o.Seeds, Transport: o.Transport,
		Source: "[DP-PVI], " + c.figure}
	if o.Quick {
		c.splits, c.parties = c.splits[len(c.splits)-1:], min(c.parties, 20)
		if c.half && c.published != "" { // its methods are that study's
			c.methods = c.methods[1:2]
		}
	}
	var names []string
	for _, s := range c.splits {
		names = append(names, s.name)
	}
	o = o.Begin(o.Count(names...) * o.Count(c.names()...) * o.Seeds)
	for _, s := range c.splits {
		if !o.Picks(s.name, "balanced", "unbalanced 1", "unbalanced 2") {
			continue
		}
		var all []found
		for _, m := range c.methods {
			if !o.Picks(m.name, c.names()...) {
				continue
			}
			f, err := c.learn(ctx, o, m, s)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		c.add(r, numbers, s, all)
		o.Keep(r)
	}
	return r, nil
}

// data is what one seed learns from.
func (c comparison) data(o study.Options, s split, seed uint64) (*experiment.Data, error) {
	if c.half {
		return adultHalf(o, s, c.parties, seed)
	}
	return adult(o, s, c.parties, c.train, seed)
}

// reference is what posteriors are held against.
func (c comparison) reference(d *experiment.Data) (quality.Reference, error) {
	if c.network {
		return quality.Reference{Features: d.Schema.Dim()}, nil
	}
	return quality.Logistic(d, nil)
}

func (c comparison) names() (all []string) {
	for _, m := range c.methods {
		all = append(all, m.name)
	}
	return all
}

// learn runs the seeds of one method on one split.
func (c comparison) learn(ctx context.Context, o study.Options, m method, s split) (found, error) {
	f := found{method: m}
	for _, seed := range o.Each() {
		data, err := c.data(o, s, uint64(seed))
		if err != nil {
			return f, err
		}
		against, err := c.reference(data)
		if err != nil {
			return f, err
		}
		t, err := m.run(ctx, o, data, against, c.epsilon, uint64(seed))
		if err != nil {
			return f, fmt.Errorf("%s, %s: %w", c.name, s.name, err)
		}
		o.Tell(fmt.Sprintf("%s, %s, seed %d: %.4f / %.4f", s.name, m.name, seed, t.last()[0], t.last()[1]))
		f.traces = append(f.traces, t)
	}
	return f, nil
}

// add puts a split's rows and curves into the result, and, once, what the methods
// cost and how they were set.
func (c comparison) add(r *study.Result, n *published.Numbers, s split, all []found) {
	for _, f := range all {
		bar := f.method.bars[s.name]
		for i, m := range []study.Measure{study.Accuracy, study.LogLikelihood} {
			row := study.Row{Case: s.name, Method: f.method.name, Measure: m, Bar: bar[i],
				Paper: n.Figure(s.name, f.method.paper, m), Values: f.last(i)}
			r.Rows = append(r.Rows, row.Mean())
		}
		for _, t := range f.traces {
			r.Calibrate(s.name, f.method.name, t.calibration...)
		}
		if s == c.splits[0] {
			if spent := f.traces[0].spent; spent.Method != "" {
				r.Spent = append(r.Spent, spent)
			}
			r.Settings = append(r.Settings, study.Setting{Name: f.method.name, Value: f.method.settings})
		}
	}
	for i, m := range []study.Measure{study.Accuracy, study.LogLikelihood} {
		p := study.Panel{Title: s.name, XLabel: "rounds", YLabel: "test " + string(m), LogX: true}
		for _, f := range all {
			if len(f.traces[0].rounds) > 1 {
				p.Curves = append(p.Curves, f.curve(i))
			} else {
				mean, _ := study.MeanSE(f.last(i))
				p.Levels = append(p.Levels, study.Level{Name: f.method.name, Y: mean})
			}
		}
		for _, name := range []string{"virtual clients, trusted aggregator", "virtual clients",
			"local averaging", "local averaging, trusted aggregator", "DP optimisation",
			"global VI, trusted aggregator"} {
			if k := n.Curve(s.name, name, m); k != nil {
				p.Curves = append(p.Curves, *k)
			}
		}
		if len(p.Curves) > 0 { // levels alone have no abscissa
			r.Panels = append(r.Panels, p)
		}
	}
}

// last is the scores at the end.
func (t *trace) last() pair { return t.scores[len(t.scores)-1] }

func (f found) last(measure int) (v []float64) {
	for _, t := range f.traces {
		v = append(v, t.last()[measure])
	}
	return v
}

// curve is the mean over seeds, round by round.
func (f found) curve(measure int) study.Curve {
	c := study.Curve{Name: f.method.name + " (ours)"}
	for i, round := range f.traces[0].rounds {
		var v []float64
		for _, t := range f.traces {
			v = append(v, t.scores[i][measure])
		}
		mean, se := study.MeanSE(v)
		c.X = append(c.X, float64(round))
		c.Y = append(c.Y, mean)
		c.SE = append(c.SE, se)
	}
	return c
}
