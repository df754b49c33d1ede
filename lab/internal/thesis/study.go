package thesis

import (
	"context"
	"fmt"
	"math"
	"strings"

	"choir/lab/study"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
)

// Studies are the experiments of [Thesis].
func Studies() []study.Study {
	return []study.Study{
		{Name: "thesis-regression", About: "[Thesis], Figures 4.1, 4.4, 4.8, 4.11-4.13, 4.16, 4.17: " +
			"linear regression of one weight by many clients", Run: regression},
	}
}

// seedsEach is the number of problems for one seed: [Thesis] has 50.
const seedsEach = 10

// figure is a group of runs whose median divergence is a row.
type figure struct {
	name, method string
	clients      int
	points       int
	theta, sd    float64 // 0: drawn
	config       pvi.Config
	scaled       bool // the clip is of x^2 and xy, which the observations' variance divides
	rounds       int
	epsilon      float64 // 0: the cost of the noise of [Thesis]
	paper        *study.Figure
	bar          float64
}

func datasetLevel(c, damping float64) pvi.Config {
	return pvi.Config{
		Strategy: pvi.Dataset{}, Clip: c, Damping: damping,
	}
}

func analytic(c, damping float64) pvi.Config {
	return pvi.Config{
		Strategy: pvi.Analytic{}, Clip: c, Damping: damping,
	}
}

// descent starts at a precision of 200, what 50 points of unit variance under noise of
// 0.5 are expected to give.
func descent() pvi.Config {
	return pvi.Config{
		Strategy: pvi.Optimisation{Steps: 10, LearningRate: 1e-3, Optimiser: pvi.Proximal, SDUnit: 0.003},
		Family:   gauss.MeanField, Clip: 5, Damping: 0.5, DampingDecay: 0.05,
		StartPrecision: 200,
	}
}

// asInThesis is the noise over the clip in the runs of [Thesis].
const asInThesis = 5

// cost is the epsilon of that noise over all rounds, for replace-one neighbours, whose
// clipped statistics are up to two clips apart.
func cost() (float64, error) {
	a, err := privacy.Account(privacy.Query{Mechanism: privacy.Gaussian, Sigma: asInThesis, Clip: 1,
		Relation: privacy.ReplaceOne, Steps: rounds, Delta: delta})
	return a.Epsilon, err
}

// figures are those of [Thesis] that a number can represent.
func figures() (all []figure) {
	all = append(all, figure{name: "Figure 4.1: 5 clients of 10 points, epsilon 500", method: "DP-SGD",
		clients: 5, points: 10, theta: 2, sd: 0.5, config: descent(), rounds: 40, epsilon: 500,
		paper: &study.Figure{Value: 1e-3, Precision: 4e-3,
			Where: "thesis, section 4.2.1: of the order of 1e-3"}})
	for _, e := range []float64{0, epsilon} {
		name := "Figure 4.4, the thesis's noise of 5 C: C %g"
		if e > 0 {
			name = "Figure 4.4, epsilon 10: C %g"
		}
		for _, c := range []float64{0.25, 0.5, 1, 2} {
			f := figure{name: fmt.Sprintf(name, c), method: "analytic, datapoint level", clients: 20,
				points: 10, sd: 0.5, config: analytic(c, 0.1), scaled: true, rounds: rounds, epsilon: e}
			if c == 0.25 && e == 0 {
				f.paper = &study.Figure{Value: 22, Precision: 1,
					Where: "thesis, section 4.2.2: the best median, approximately 22"}
			}
			all = append(all, f)
		}
	}
	for _, c := range []float64{1, 2, 5, 10} {
		for _, a := range []float64{0.05, 0.1} {
			all = append(all, figure{name: fmt.Sprintf("Figure 4.8: C %g, alpha %g", c, a),
				method: "dataset level", clients: 20, points: 10, config: datasetLevel(c, a),
				rounds: rounds, epsilon: epsilon})
		}
	}
	for _, m := range []int{10, 30, 50} {
		all = append(all, figure{name: fmt.Sprintf("Figure 4.13: %d clients of 10 points", m),
			method: "dataset level", clients: m, points: 10, config: datasetLevel(5, 0.1), rounds: rounds,
			epsilon: epsilon})
	}
	for _, rho := range []int{30, 90} {
		all = append(all, figure{name: fmt.Sprintf("Figure 4.13: 20 clients of %d points", rho),
			method: "dataset level", clients: 20, points: rho, config: datasetLevel(0.5*float64(rho), 0.1),
			rounds: rounds, epsilon: epsilon})
	}
	return append(all, figure{name: "Figure 4.17: datapoint level, C 1",
		method: "analytic, datapoint level", clients: 20, points: 10, config: analytic(1, 0.1),
		scaled: true, rounds: rounds, epsilon: epsilon})
}

func regression(ctx context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "thesis-regression",
		Title: "Linear regression of one weight by many clients", Seeds: o.Seeds, Transport: o.Transport,
		Source: "[Thesis], Figures 4.1, 4.4, 4.8, 4.11-4.13, 4.16 and 4.17", Settings: settings()}
	per := seedsEach
	if o.Quick {
		per = 2
	}
	o = o.Begin(len(figures()))
	for i, f := range figures() {
		if o.Quick && i > 2 && f.name != "Figure 4.8: C 5, alpha 0.1" &&
			f.name != "Figure 4.8: C 1, alpha 0.1" && f.name != "Figure 4.17: datapoint level, C 1" {
			continue
		}
		row := study.Row{Case: f.name, Method: f.method, Measure: study.KL, Paper: f.paper, Bar: f.bar}
		traces, err := f.run(ctx, o, per)
		if err != nil {
			return nil, err
		}
		r.Spent = append(r.Spent, traces[0].spent)
		for _, t := range traces {
			row.Values = append(row.Values, t.last())
			r.Calibrate(f.name, f.method, t.score())
		}
		row = row.Median()
		o.Tell(fmt.Sprintf("%s, %s: median %.3g", f.name, f.method, row.Ours))
		r.Rows = append(r.Rows, row)
		o.Keep(r)
	}
	r.Spent = distinct(r.Spent)
	compare(r)
	return r, curves(ctx, o, r)
}

// run learns the problems of all seeds, per of them each, in one session: its messages
// cost as much as one problem's. A problem's noise depends on how many there are. Where
// the clip is a problem's own, and with it the noise, it has a session to itself.
func (f figure) run(ctx context.Context, o study.Options, per int) (traces []*trace, err error) {
	if f.epsilon == 0 {
		if f.epsilon, err = cost(); err != nil {
			return nil, err
		}
	}
	var all []problem
	var configs []pvi.Config
	seeds := o.Each()
	for i := range len(seeds) * per {
		p, err := draw((seeds[0]-1)*per+i+1, f.clients, f.points, f.theta, f.sd)
		if err != nil {
			return nil, err
		}
		c := f.config
		if f.scaled {
			c.Clip /= p.sd * p.sd
		}
		all, configs = append(all, p), append(configs, c)
	}
	name := f.method + ", " + f.name
	if !f.scaled || f.sd != 0 {
		return learn(ctx, name, seeds[0], all, configs, f.rounds, f.epsilon, o)
	}
	for i, p := range all {
		t, err := p.run(ctx, name, i+1, configs[i], f.rounds, f.epsilon, o)
		if err != nil {
			return nil, err
		}
		traces = append(traces, t)
	}
	return traces, nil
}

// distinct keeps the first account of every method.
func distinct(all []study.Spent) (out []study.Spent) {
	seen := map[string]bool{}
	for _, s := range all {
		method := s.Method[:max(0, strings.Index(s.Method, ":"))]
		if !seen[method] {
			seen[method] = true
			out = append(out, s)
		}
	}
	return out
}

// compare is Figure 4.17: the dataset level against the datapoint level with C = 1,
// problem by problem. The thesis finds the dataset level with C = 5 better.
func compare(r *study.Result) {
	values := map[string][]float64{}
	for _, row := range r.Rows {
		values[row.Case] = row.Values
	}
	for _, c := range []int{5, 1} {
		row := study.Row{Case: fmt.Sprintf("Figure 4.17: dataset level, C %d, less datapoint level, C 1",
			c), Method: "difference of log10 KL", Measure: study.KL}
		points := values["Figure 4.17: datapoint level, C 1"]
		for i, v := range values[fmt.Sprintf("Figure 4.8: C %d, alpha 0.1", c)] {
			row.Values = append(row.Values, math.Log10(v)-math.Log10(points[i]))
		}
		r.Rows = append(r.Rows, row.Median())
	}
}

// curves are Figures 4.11, 4.12 and 4.16: the precision round by round, good settings and
// poor ones.
func curves(ctx context.Context, o study.Options, r *study.Result) error {
	for _, g := range []struct {
		title string
		runs  []pvi.Config
	}{
		{"Figure 4.11: good settings", []pvi.Config{datasetLevel(5, 0.1), datasetLevel(2, 0.1)}},
		{"Figure 4.12: too small, too large", []pvi.Config{datasetLevel(1, 0.05), datasetLevel(20, 0.5)}},
		{"Figure 4.16: no local lifting", []pvi.Config{datasetLevel(5, 0.1)}},
	} {
		p, err := draw(1000, 20, 10, 2, 2)
		if err != nil {
			return err
		}
		want, err := p.exact()
		if err != nil {
			return err
		}
		panel := study.Panel{Title: g.title, XLabel: "round", YLabel: "precision of q",
			Levels: []study.Level{{Name: "non-private", Y: -2 * want.Natural()[1]}}}
		for _, c := range g.runs {
			t, err := p.run(ctx, g.title, 1, c, rounds, epsilon, o)
			if err != nil {
				return err
			}
			k := study.Curve{Name: fmt.Sprintf("C %g, alpha %g", c.Clip, c.Damping), Y: t.precision}
			for i := range t.precision {
				k.X = append(k.X, float64(i+1))
			}
			panel.Curves = append(panel.Curves, k)
		}
		r.Panels = append(r.Panels, panel)
	}
	return nil
}

func settings() []study.Setting {
	return []study.Setting{{Name: "problems", Value: fmt.Sprintf("%d for each seed", seedsEach)},
		{Name: "clients", Value: "20 of 10 points where not said otherwise"},
		{Name: "rounds", Value: fmt.Sprint(rounds)},
		{Name: "natural parameters", Value: "(h, -P/2), clipped in their joint norm"}}
}
