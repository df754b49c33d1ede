// Package own tries the methods on data that the papers do not use: classes drawn from a
// known logistic model, and a real data set that ships with the source.
//
// The settings were found on Adult, but for virtual clients of 400 shards, whose setting was found
// on generated data.
package own

import (
	"context"
	"fmt"
	"math"
	"slices"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/internal/task"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/session/app"
)

// Studies are the experiments on data of our own.
func Studies() []study.Study {
	return []study.Study{
		{Name: "own-generated", About: "generated classes with known weights: virtual clients and global " +
			"VI over the secure sum, 10 clients", Run: generated().run},
		{Name: "own-randhie", About: "RAND Health Insurance Experiment, which ships with the source: " +
			"four methods over the secure sum, 10 clients", Run: hie().run},
	}
}

// trial is a study on one data set: every method on every way to share it out.
type trial struct {
	name, title, source string
	cases               []sharing
	methods             []method
	// load also returns the weights that made the data, nil where they aren't known.
	load func(o study.Options, c sharing, seed uint64) (*experiment.Data, []float64, error)
}

// sharing is how the rows are dealt to the parties, as in [DP-PVI].
type sharing struct {
	name       string
	rho, kappa float64
}

const parties = 10

type method struct {
	name     string
	rounds   int
	app      func(t task.Task) app.Spec
	settings string
}

// single is virtual clients as on Adult (experiment paper4-adult).
func single() method {
	return method{"virtual clients, one a row", 20,
		func(t task.Task) app.Spec {
			return t.PVI(pvi.Config{
				Strategy:       pvi.Virtual{Shards: t.Rows, ShardPower: 1, Fit: task.OneStep()},
				PrecisionFloor: 100, Clip: 0.75, Damping: 0.18, StartPrecision: 150,
			})
		}, "the setting for Adult: one natural-gradient step, C 0.75, damping 0.18, precision 150 to start " +
			"with, precisions of at least 100, 20 rounds"}
}

func fourHundred() method {
	return method{"virtual clients, 400 each", 15, func(t task.Task) app.Spec {
		return t.PVI(pvi.Config{
			Strategy:       pvi.Virtual{Shards: 400, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}},
			PrecisionFloor: 1, Clip: 0.1, Damping: 0.2, DampingDecay: 0.2, Beta: 0.9,
		})
	}, "found on generated data: C 0.1, 5 Adam steps of 0.05, damping 0.2 / (1 + 0.2 (s-1)), beta " +
		"0.9, 15 rounds"}
}

// datasetLevel is one factor a party: every party's update is clipped as a whole.
func datasetLevel() method {
	return method{"dataset level", 15, func(t task.Task) app.Spec {
		return t.PVI(pvi.Config{
			Strategy: pvi.Dataset{Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}}, PrecisionFloor: 1,
			Clip: 1, Damping: 0.2, DampingDecay: 0.2,
		})
	}, "C 1, 5 Adam steps of 0.05, damping 0.2 / (1 + 0.2 (s-1)), 15 rounds"}
}

func globalVI(rounds int) method {
	return method{"global VI over secure sums", rounds,
		func(t task.Task) app.Spec {
			return t.GlobalVI(global.Config{InitialSD: 0.1, Clip: 3, SampleRate: 0.02, LearningRate: 0.015,
				Averaging: 3})
		}, fmt.Sprintf("%d rounds, otherwise the setting for Adult: q 0.02, C 3, Adam at 0.015, averaging 3",
			rounds)}
}

func (t trial) run(ctx context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: t.name, Title: t.title, Seeds: o.Seeds,
		Transport: o.Transport, Source: t.source}
	for _, m := range t.methods {
		r.Settings = append(r.Settings, study.Setting{Name: m.name, Value: m.settings})
	}
	o = o.Begin(len(t.cases) * o.Seeds * (len(t.methods) + 1))
	for _, c := range t.cases {
		if err := t.add(ctx, o, r, c); err != nil {
			return nil, err
		}
		r.Panels = pictures(r.Rows)
		o.Keep(r)
	}
	return r, nil
}

// found are the two scores of each method by seed, and where its calibration goes.
type found struct {
	scores  map[string][2][]float64
	against quality.Reference // of the seed
	to      *study.Result
	where   string
}

func (f *found) note(method string, accuracy, logLik float64) {
	v := f.scores[method]
	v[0], v[1] = append(v[0], accuracy), append(v[1], logLik)
	f.scores[method] = v
}

// run notes the scores of a run.
func (f *found) run(method string, out *bed.Outcome, a app.Spec, d *experiment.Data) (bayes.Scores, error) {
	s, err := out.Last.Evaluate(d.Test)
	if err != nil {
		return s, err
	}
	f.note(method, s.Accuracy, s.LogLikelihood)
	all, err := f.against.Scores(out, a)
	f.to.Calibrate(f.where, method, all...)
	return s, err
}

func (t trial) add(ctx context.Context, o study.Options, r *study.Result, c sharing) error {
	f := &found{scores: map[string][2][]float64{}}
	for _, seed := range o.Each() {
		d, truth, err := t.load(o, c, uint64(seed))
		if err != nil {
			return err
		}
		against, err := quality.Logistic(d, truth)
		if err != nil {
			return err
		}
		f.against, f.to, f.where = against, r, c.name
		spent, err := t.learn(ctx, o, d, uint64(seed), f)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", t.name, c.name, err)
		}
		if seed == o.Each()[0] && c == t.cases[0] {
			r.Spent = spent
		}
	}
	names := []string{}
	for _, m := range t.methods {
		names = append(names, m.name)
	}
	for _, m := range append(names, "without privacy", "majority") {
		for i, measure := range []study.Measure{study.Accuracy, study.LogLikelihood} {
			r.Rows = append(r.Rows, study.Row{Case: c.name, Method: m, Measure: measure,
				Values: f.scores[m][i]}.Mean())
		}
	}
	return nil
}

// pictures show the scores of every seed, by case and method.
func pictures(rows []study.Row) (all []study.Panel) {
	var cases, methods []string
	for _, r := range rows {
		if !slices.Contains(cases, r.Case) {
			cases = append(cases, r.Case)
		}
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	for _, measure := range []study.Measure{study.Accuracy, study.LogLikelihood} {
		p := study.Panel{Title: "every seed, and the mean", YLabel: "test " + string(measure),
			Categories: cases}
		for i, method := range methods {
			c := study.Curve{Name: method}
			shift := 0.8 * ((float64(i)+0.5)/float64(len(methods)) - 0.5)
			for _, r := range rows {
				if r.Measure != measure || r.Method != method {
					continue
				}
				for _, v := range r.Values {
					c.X, c.Y = append(c.X, float64(slices.Index(cases, r.Case))+shift), append(c.Y, v)
				}
			}
			p.Curves = append(p.Curves, c)
		}
		all = append(all, p)
	}
	return all
}

// learn runs all methods, and the references, on one seed's data.
func (t trial) learn(ctx context.Context, o study.Options, d *experiment.Data, seed uint64,
	f *found) (spent []study.Spent, err error) {
	u, err := task.Of(d)
	if err != nil {
		return nil, err
	}
	accuracy, logLik := majority(d)
	f.note("majority", accuracy, logLik)
	for _, m := range t.methods {
		run := bed.Run{Name: m.name, Seed: seed, App: m.app(u), Parts: d.Parts,
			Rounds: m.rounds, Epsilon: 1, Delta: 1e-5, Transport: o.Transport, Dir: o.Dir}
		if o.Quick {
			run.Rounds = 2
		}
		out, err := run.Do(ctx)
		if err != nil {
			return nil, err
		}
		s, err := f.run(m.name, out, run.App, d)
		if err != nil {
			return nil, err
		}
		o.Tell(fmt.Sprintf("%s, seed %d, %s: %.4f / %.4f", f.where, seed, m.name, s.Accuracy, s.LogLikelihood))
		spent = append(spent, out.Spent)
	}
	s, err := without(ctx, d, u, f)
	if err != nil {
		return nil, err
	}
	o.Tell(fmt.Sprintf("%s, seed %d, without privacy: %.4f / %.4f", f.where, seed, s.Accuracy, s.LogLikelihood))
	return spent, nil
}

// without is variational inference on all rows at one place, without privacy.
func without(ctx context.Context, d *experiment.Data, t task.Task, f *found) (bayes.Scores, error) {
	t.Weights = []float64{1, 0} // a plan without noise has a second party without records
	run := bed.Run{Name: "without privacy", Parts: []bayes.Data{d.Train}, Rounds: 1, App: t.PVI(pvi.Config{
		Strategy: pvi.Dataset{Fit: pvi.Fit{Optimiser: pvi.Natural, Steps: 100, LearningRate: 0.1}}, FracBits: 24,
		Damping: 1, StartPrecision: 150})}
	out, err := run.Do(ctx)
	if err != nil {
		return bayes.Scores{}, err
	}
	return f.run(run.Name, out, run.App, d)
}

// majority predicts the training rows' share of ones for every row.
func majority(d *experiment.Data) (accuracy, logLik float64) {
	share := func(y []float64) (p float64) {
		for _, v := range y {
			p += v / float64(len(y))
		}
		return p
	}
	p, q := share(d.Train.Y), share(d.Test.Y)
	if accuracy = q; p < 0.5 {
		accuracy = 1 - q
	}
	return accuracy, q*math.Log(p) + (1-q)*math.Log(1-p)
}
