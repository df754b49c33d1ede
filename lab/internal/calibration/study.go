// Package calibration compares intervals with known weights: how often they cover, how wide they
// are next to those of all rows without privacy, and what the noise-aware posterior predicts.
package calibration

import (
	"context"
	"fmt"
	"slices"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/session/app"
)

// Studies are the tables of intervals and their coverage.
func Studies() []study.Study {
	return []study.Study{
		{Name: "calibration", Run: sweep("calibration", worlds, func(int) int { return 0 }),
			About: "coverage and width of intervals of the true weights, with and without the privacy noise, by " +
				"every method, in four worlds of 16,000 rows and eight others"},
		{Name: "calibration-rare", Run: sweep("calibration-rare", rare, func(int) int { return 30 }),
			About: "the same in ten worlds in which few records have one of the classes"},
		{Name: "calibration-prior", Run: sweep("calibration-prior", priors, func(int) int { return 60_000 }),
			About: "the same in ten worlds whose weights are drawn from the prior, as simulation-based calibration " +
				"draws them"},
		{Name: "calibration-real", Run: genuine,
			About: "log-likelihood with and without the privacy noise on Adult, RANDHIE, abalone and wine"},
		{Name: "calibration-drawn",
			Run:   sweep("calibration-drawn", drawn, func(at int) int { return 9000 + 100*at }),
			About: "the same in twenty worlds drawn at random, on seeds of their own"},
		{Name: "calibration-fresh", Run: freshly,
			About: "the same in worlds that nobody has seen: one is drawn for each seed"},
		{Name: "calibration-corners",
			Run: sweep("calibration-corners", corners, func(at int) int { return 20_000 + 100*at }),
			About: "the same in worlds whose rows, columns, correlations, parties and epsilon are the least or " +
				"the largest, but for 50,000 rows of 60 columns"},
		{Name: "calibration-ranges", Run: ranged,
			About: "the same in eleven worlds of skewed columns of which nothing but ranges is public"},
		{Name: "calibration-categories", Run: categorical,
			About: "the same in eight worlds of such columns with categories, of classes and of numbers, two of " +
				"them with missing cells"},
	}
}

// tally has the scores of one world by method and posterior.
type tally struct {
	world   world
	names   []string
	all     map[string][]study.Score
	against quality.Reference // of the last seed
	// prior and constant are the log-likelihoods of the prior's predictive and of the same
	// prediction for all rows, that of the training rows' targets, by seed.
	prior, constant []float64
}

func (t *tally) add(name string, s study.Score) {
	if !slices.Contains(t.names, name) {
		t.names = append(t.names, name)
	}
	t.all[name] = append(t.all[name], s)
}

// sweep is a study of worlds. A world's seeds begin after the number that after returns for its place.
func sweep(name string, worlds func(quick bool) []world, after func(at int) int) func(context.Context,
	study.Options) (*study.Result, error) {
	return func(ctx context.Context, o study.Options) (*study.Result, error) {
		return each(ctx, o, name, worlds(o.Quick), after, world.load)
	}
}

// loading draws a world's data, with the true weights of the columns as they are encoded.
type loading func(w world, seed uint64) (*experiment.Data, []float64, error)

func each(ctx context.Context, o study.Options, name string, all []world, after func(at int) int,
	load loading) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: name, Title: "Intervals of the true weights",
		Seeds: o.Seeds, Transport: bed.Clear, Source: "none: generated data with known weights",
		About: []string{"Every setting is the plan's default, delta is 1e-5. *plain* takes the revealed sums for " +
			"exact, *noise-aware* counts their noise (noise-aware.md). Width is the mean standard " +
			"deviation over that of the posterior of all rows without privacy. *prior* is the prior's predictive, " +
			"*constant* the prediction that has only the mean of the training targets, and their variance."}}
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	o = o.Begin(o.Count(names...) * len(o.Each()))
	var found extremes
	for at, w := range all {
		if !o.Picks(w.Name, names...) {
			continue
		}
		t := &tally{world: w, all: map[string][]study.Score{}}
		for _, seed := range o.Each() {
			if err := t.draw(ctx, o, uint64(after(at)+seed), load); err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", w.Name, seed, err)
			}
			o.Tell(fmt.Sprintf("%s, seed %d", w.Name, seed))
		}
		r.Settings = append(r.Settings, study.Setting{Name: w.Name, Value: w.describe()})
		r.Rows = append(r.Rows, t.rows()...)
		r.Panels = append(r.Panels, t.panel())
		found.add(t)
		o.Keep(r)
	}
	r.Notes = found.notes()
	return r, nil
}

// seed adds one repetition.
func (t *tally) seed(ctx context.Context, o study.Options, seed uint64) error {
	return t.draw(ctx, o, seed, world.load)
}

// draw adds one repetition on data that load draws.
func (t *tally) draw(ctx context.Context, o study.Options, seed uint64, load loading) error {
	d, truth, err := load(t.world, seed)
	if err != nil {
		return err
	}
	return t.repeat(ctx, o, d, truth, seed)
}

// repeat adds one repetition on data with these true weights.
func (t *tally) repeat(ctx context.Context, o study.Options, d *experiment.Data, truth []float64,
	seed uint64) (err error) {
	w := t.world
	t.against = quality.Reference{Test: d.Test, Features: d.Schema.Dim(), Numbers: w.Linear, Truth: truth,
		Levels: d.Schema.Levels()}
	t.against.SD, err = quality.NonPrivate(d.Train, d.Schema.Dim(), w.Linear, noiseSD)
	if err != nil {
		return err
	}
	if err := t.reference(d); err != nil {
		return err
	}
	var names []string
	for _, m := range ways() {
		names = append(names, m.name)
	}
	for _, m := range ways() {
		if m.model != "" && m.model != w.model() || !o.Picks(m.name, names...) {
			continue
		}
		if err := t.try(ctx, d, m, seed); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// try adds one method's scores.
func (t *tally) try(ctx context.Context, d *experiment.Data, m way, seed uint64) error {
	o, r, err := t.world.learn(ctx, d, m, seed)
	if err != nil {
		return err
	}
	against, err := t.framed(o, r.App, d)
	if err != nil {
		return err
	}
	scores, err := against.Scores(o, r.App)
	for _, s := range scores {
		t.add(m.name+", "+s.Posterior, s)
	}
	return err
}

// framed is what to compare a session's weights with: those of centred columns, if it has centred them.
func (t *tally) framed(o *bed.Outcome, spec app.Spec, d *experiment.Data) (quality.Reference, error) {
	r := t.against
	frame, err := app.Frame(o.Plan, spec, o.State)
	if err != nil || frame == nil {
		return r, err
	}
	columns := centre.Of(d.Schema)
	r.Truth = columns.Weights(r.Truth, *frame)
	rows := bayes.Data{X: columns.Recode(d.Train.X, *frame), Y: d.Train.Y}
	r.SD, err = quality.NonPrivate(rows, r.Features, r.Numbers, noiseSD)
	return r, err
}

// allowed is how far a coverage may be from nominal.
const allowed = 0.05

// rows are the world's part of the table.
func (t *tally) rows() []study.Row {
	rows := t.references()
	add := func(name string, m study.Measure, why string, of func(seed int, s study.Score) float64) {
		row := study.Row{Case: t.world.Name, Method: name, Measure: m, Why: why}
		for i, s := range t.all[name] {
			row.Values = append(row.Values, of(i, s))
		}
		rows = append(rows, row.Mean())
	}
	for _, name := range t.names {
		for k, level := range study.Levels() {
			add(name, study.Coverage, t.judge(name, k, level),
				func(_ int, s study.Score) float64 { return s.Coverage[k] })
		}
		add(name, study.Width, "", func(_ int, s study.Score) float64 { return s.Width })
		add(name, study.LogLikelihood, "", func(_ int, s study.Score) float64 { return s.LogLikelihood })
		if !t.world.Linear {
			add(name, study.ECE, "", func(_ int, s study.Score) float64 { return s.ECE })
		}
	}
	return rows
}

// references are the rows that need no learning.
func (t *tally) references() (rows []study.Row) {
	for _, r := range []struct {
		name   string
		values []float64
	}{{"prior", t.prior}, {"constant", t.constant}} {
		row := study.Row{Case: t.world.Name, Method: r.name, Measure: study.LogLikelihood, Values: r.values}
		rows = append(rows, row.Mean())
	}
	return rows
}

// judge reports whether a coverage is nominal.
func (t *tally) judge(name string, k int, level float64) string {
	got := 0.0
	for _, s := range t.all[name] {
		got += s.Coverage[k] / float64(len(t.all[name]))
	}
	about := fmt.Sprintf("nominal %g", level)
	switch {
	case got < level-allowed:
		return about + ", too narrow"
	case got > level+allowed:
		return about + ", too wide"
	}
	return about + ", covers"
}

// panel draws coverage against the nominal level.
func (t *tally) panel() study.Panel {
	levels := study.Levels()
	p := study.Panel{Title: t.world.Name, XLabel: "nominal", YLabel: "coverage", YMin: 0, YMax: 1,
		Curves: []study.Curve{{Name: "nominal", X: levels[:], Y: levels[:]}}}
	for _, name := range t.names {
		c := study.Curve{Name: name}
		for k, level := range levels {
			var values []float64
			for _, s := range t.all[name] {
				values = append(values, s.Coverage[k])
			}
			mean, se := study.MeanSE(values)
			c.X = append(c.X, level)
			c.Y = append(c.Y, mean)
			c.SE = append(c.SE, se)
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}
