package workshop

import (
	"context"
	"fmt"
	"slices"

	"choir/lab/bed"
	"choir/lab/experiment"
	numbers "choir/lab/internal/published"
	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/privacy"
)

// Studies are the paper's experiments.
func Studies() []study.Study {
	return []study.Study{{Name: "workshop-table5",
		About: "[Workshop], Table 5: asynchronous DP-PVI on Adult, three distributions", Run: table5}}
}

func epsilons() []float64 { return []float64{0.5, 0.75, 1} }

// adult is the data of one seed: 80 % trains.
func (d distribution) adult(o study.Options, seed uint64) (*experiment.Data, error) {
	from, err := experiment.Adult(o.DataDir)
	if err != nil {
		return nil, err
	}
	from.Seed = seed
	from.Parties = clients
	from.Rho = d.rho
	from.Kappa = d.kappa
	from.Train = 0.8
	return from.Load()
}

// way is one of the ways to learn that are compared.
type way struct {
	name string
	bar  bool // it set out to reach the published figure
	run  func(d distribution, ctx context.Context, o study.Options, data *experiment.Data, epsilon float64,
		seed uint64) (scores, study.Spent, error)
}

func ways() []way {
	return []way{{"DP-PVI with the published steps", false, distribution.published},
		{"DP-PVI with shorter steps", false, distribution.shorter},
		{"DP-PVI with our steps", true, distribution.ours},
		{"global VI over secure sums", true, distribution.global}}
}

func names() (all []string) {
	for _, w := range ways() {
		all = append(all, w.name)
	}
	return all
}

// published runs the authors' method with their steps and their noise within their accountant's budget.
func (d distribution) published(ctx context.Context, o study.Options, data *experiment.Data,
	epsilon float64, seed uint64) (scores, study.Spent, error) {
	return d.adagrad(ctx, o, data, published(data.Schema.Dim()), "the published", epsilon, seed)
}

// shorter is the same with shorter steps.
func (d distribution) shorter(ctx context.Context, o study.Options, data *experiment.Data,
	epsilon float64, seed uint64) (scores, study.Spent, error) {
	return d.adagrad(ctx, o, data, shorter(data.Schema.Dim()), "shorter", epsilon, seed)
}

// adagrad runs the authors' method with a configuration of its steps.
func (d distribution) adagrad(ctx context.Context, o study.Options, data *experiment.Data, config pvi.Config,
	kind string, epsilon float64, seed uint64) (s scores, spent study.Spent, err error) {
	run := arrival{name: "workshop", curve: epsilon == 1}
	for i := range clients {
		c := client{config: config, noise: sigma, updates: updates(epsilon, d.delta(i))}
		if o.Quick {
			c.updates = 1
		}
		run.clients = append(run.clients, c)
	}
	delta := d.delta(clients - 1)
	allowed := updates(epsilon, delta)
	moments, _ := privacy.MomentsEpsilon(sigma, rate, steps*allowed, delta, orders)
	tight, replaced, err := accounts(sigma, rate, steps*allowed, delta)
	if err != nil {
		return s, spent, err
	}
	spent = study.Spent{Method: fmt.Sprintf("DP-PVI with %s steps, %s, epsilon %g", kind, d.name, epsilon),
		Epsilon: moments, Delta: delta, Accountant: "moments, orders to 32", Relation: "add-remove",
		Noise: fmt.Sprintf("standard deviation %g C at every client by itself; %d updates of %d steps, "+
			"Poisson samples at rate %g (large clients). The same noise by Choir's accountant: %.3f "+
			"add-remove, %.3f replace-one",
			float64(sigma), allowed, steps, rate, tight, replaced)}
	s, err = run.do(ctx, o, data, seed)
	return s, spent, err
}

// global runs Choir's best secure method within the same epsilon, by its own accountant
// under replace-one neighbours, for which the authors' epsilon would be about twice as large.
func (d distribution) global(ctx context.Context, o study.Options, data *experiment.Data, epsilon float64,
	seed uint64) (s scores, spent study.Spent, err error) {
	t, err := task.Of(data)
	if err != nil {
		return s, spent, err
	}
	learner := t.GlobalVI(global.Config{InitialSD: 0.1, Clip: 3, SampleRate: 0.02, LearningRate: 0.015,
		Averaging: 3})
	rounds := 1000
	if o.Quick {
		rounds = 2
	}
	r := bed.Run{Name: fmt.Sprintf("global VI over secure sums, %s, epsilon %g", d.name, epsilon),
		Seed: seed, App: learner,
		Parts: data.Parts, Rounds: rounds, Epsilon: epsilon, Delta: slices.Min(d.deltas[:]),
		Transport: o.Transport, Dir: o.Dir,
		Watch: func(round int, p *bayes.Posterior) error {
			if epsilon != 1 && round < rounds {
				return nil // only the curves of one epsilon are shown
			}
			e, err := p.Evaluate(data.Test)
			s.at, s.of = append(s.at, round*clients), append(s.of, [2]float64{e.Accuracy, e.LogLikelihood})
			return err
		}}
	out, err := r.Do(ctx)
	if err != nil {
		return s, spent, err
	}
	s.calibration, err = calibrate(out, r, data)
	return s, out.Spent, err
}

func table5(ctx context.Context, o study.Options) (*study.Result, error) {
	paper, err := numbers.Of("workshop-table5")
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: "workshop-table5",
		Title: "Asynchronous DP-PVI on Adult, 10 clients, three distributions", Seeds: o.Seeds,
		Transport: o.Transport,
		Source:    "[Workshop], Table 5 and Figures 1, 4, 5", Settings: settings()}
	o = o.Begin(o.Count("A", "B", "C") * o.Count(names()...) * len(epsilons()) * o.Seeds)
	for _, d := range distributions() {
		if !o.Picks(d.name, "A", "B", "C") || o.Quick && d.name != "B" {
			continue
		}
		all, panels := map[int]*experiment.Data{}, [2]study.Panel{}
		for _, seed := range o.Each() {
			if all[seed], err = d.adult(o, uint64(seed)); err != nil {
				return nil, err
			}
		}
		for i, m := range measures() {
			panels[i] = study.Panel{Title: "distribution " + d.name, XLabel: "communications",
				YLabel: "test " + string(m), LogX: true}
		}
		for _, w := range ways() {
			if !o.Picks(w.name, names()...) {
				continue
			}
			for _, e := range epsilons() {
				if o.Quick && e != 1 {
					continue
				}
				if err := w.add(ctx, o, r, paper, d, all, e, &panels); err != nil {
					return nil, err
				}
			}
		}
		for _, p := range panels {
			if len(p.Curves) > 0 {
				r.Panels = append(r.Panels, p)
			}
		}
	}
	return r, nil
}

func measures() [2]study.Measure { return [2]study.Measure{study.Accuracy, study.LogLikelihood} }

// add runs the seeds of one way on one distribution.
func (w way) add(ctx context.Context, o study.Options, r *study.Result, n *numbers.Numbers, d distribution,
	data map[int]*experiment.Data, epsilon float64, panels *[2]study.Panel) error {
	var all []scores
	for _, seed := range o.Each() {
		s, spent, err := w.run(d, ctx, o, data[seed], epsilon, uint64(seed))
		if err != nil {
			return fmt.Errorf("workshop-table5, %s, %s, epsilon %g, seed %d: %w", d.name, w.name, epsilon,
				seed, err)
		}
		if seed == o.Each()[0] {
			r.Spent = append(r.Spent, spent)
		}
		o.Tell(fmt.Sprintf("%s, %s, epsilon %g, seed %d: %.4f / %.4f", d.name, w.name, epsilon, seed,
			s.last()[0], s.last()[1]))
		all = append(all, s)
		r.Calibrate(fmt.Sprintf("%s, epsilon %g", d.name, epsilon), w.name, s.calibration...)
	}
	for i, m := range measures() {
		row := study.Row{Case: fmt.Sprintf("%s, epsilon %g", d.name, epsilon), Method: w.name, Measure: m,
			Paper: n.Figure(d.name, fmt.Sprintf("DP-PVI, epsilon %g", epsilon), m)}
		if w.bar && row.Paper != nil {
			row.Bar = row.Paper.Value
		}
		for _, s := range all {
			row.Values = append(row.Values, s.last()[i])
		}
		r.Rows = append(r.Rows, row.Mean())
		o.Keep(r)
		if epsilon != 1 {
			continue
		}
		if k := n.Curve(d.name, "DP-PVI, epsilon 1", m); k != nil && len(panels[i].Curves) == 0 {
			panels[i].Curves = append(panels[i].Curves, *k)
		}
		panels[i].Curves = append(panels[i].Curves, curve(w.name+" (ours)", all, i))
	}
	return nil
}

// curve is the mean over seeds; runs of other lengths than the first's are cut there.
func curve(name string, all []scores, measure int) study.Curve {
	c := study.Curve{Name: name}
	for k, at := range all[0].at {
		var v []float64
		for _, s := range all {
			if k < len(s.of) {
				v = append(v, s.of[k][measure])
			}
		}
		mean, se := study.MeanSE(v)
		c.X = append(c.X, float64(at))
		c.Y = append(c.Y, mean)
		c.SE = append(c.SE, se)
	}
	return c
}
