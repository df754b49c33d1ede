package calibration

import (
	"context"
	"fmt"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/quality"
	"choir/lab/internal/randhie"
	"choir/lab/study"
	"choir/lab/uci"
	"choir/learn/dataset"
)

// set is a real data set.
type set struct {
	name   string
	linear bool
	open   func(dir string) (*dataset.Records, *dataset.Schema, error)
}

func sets() []set {
	wine := func(colour string) func(string) (*dataset.Records, *dataset.Schema, error) {
		return func(dir string) (*dataset.Records, *dataset.Schema, error) {
			r, err := uci.Wine(dir, colour)
			return r, uci.WineSchema(), err
		}
	}
	return []set{
		{"adult", false, func(dir string) (*dataset.Records, *dataset.Schema, error) {
			s, err := experiment.Adult(dir)
			return s.Records, s.Schema, err
		}},
		{"randhie", false, func(string) (*dataset.Records, *dataset.Schema, error) {
			r, err := randhie.Records()
			return r, randhie.Schema(), err
		}},
		{"abalone", true, func(dir string) (*dataset.Records, *dataset.Schema, error) {
			r, err := uci.Abalone(dir)
			return r, uci.AbaloneSchema(), err
		}},
		{"white wine", true, wine("white")},
		{"red wine", true, wine("red")},
	}
}

// quickRows are the rows of a set in a test.
const quickRows = 1000

// genuine is the study of real data sets.
func genuine(ctx context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "calibration-real", Seeds: o.Seeds,
		Title:     "Predictions with and without the noise",
		Transport: bed.Clear, Source: "none: data sets of others, with settings of our own",
		About: []string{"Ten parties, (1, 1e-5), every setting the plan's default. *plain* takes the revealed " +
			"sums for exact, *noise-aware* counts their noise (noise-aware.md)."}}
	var names []string
	for _, s := range sets() {
		names = append(names, s.name)
	}
	o = o.Begin(o.Count(names...) * len(o.Each()))
	for _, s := range sets() {
		if !o.Picks(s.name, names...) {
			continue
		}
		t := &tally{all: map[string][]study.Score{},
			world: world{Name: s.name, Linear: s.linear, Parties: 10, Epsilon: 1}}
		for _, seed := range o.Each() {
			if err := t.real(ctx, o, r, s, uint64(seed)); err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", s.name, seed, err)
			}
			o.Tell(fmt.Sprintf("%s, seed %d", s.name, seed))
		}
		r.Rows = append(r.Rows, t.predictions()...)
		o.Keep(r)
	}
	return r, nil
}

// real adds one repetition of a set.
func (t *tally) real(ctx context.Context, o study.Options, r *study.Result, s set, seed uint64) error {
	records, schema, err := s.open(o.DataDir)
	if err != nil {
		return err
	}
	if o.Quick {
		records.Cells = records.Cells[:quickRows]
		records.Lines = records.Lines[:quickRows]
	}
	d, err := experiment.Source{Records: records, Schema: schema, Linear: s.linear, Seed: seed, Parties: 10,
		Train: 0.8}.Load()
	if err != nil {
		return err
	}
	if err := t.reference(d); err != nil {
		return err
	}
	t.against = quality.Reference{Test: d.Test, Features: d.Schema.Dim(), Numbers: s.linear}
	if t.against.SD, err = quality.NonPrivate(d.Train, d.Schema.Dim(), s.linear, noiseSD); err != nil {
		return err
	}
	for _, m := range ways() {
		if m.model != "" && m.model != t.world.model() || m.name == "trace" || m.name == "optimisation" ||
			!o.Picks(m.name, "virtual", "dataset", "statistics", "global") {
			continue
		}
		if err := t.predict(ctx, r, d, m, seed); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// predict adds the log-likelihoods of a method with and without the noise.
func (t *tally) predict(ctx context.Context, to *study.Result, d *experiment.Data, m way, seed uint64) error {
	out, r, err := t.world.learn(ctx, d, m, seed)
	if err != nil {
		return err
	}
	scores, err := t.against.Scores(out, r.App)
	if err != nil || len(scores) < 2 {
		return err
	}
	to.Calibrate(t.world.Name, m.name, scores...)
	for _, s := range scores {
		t.add(m.name+", "+s.Posterior, s)
	}
	return nil
}

// tie is the difference of two mean log-likelihoods that is called none.
const tie = 0.001

// predictions are the rows of a real set.
func (t *tally) predictions() []study.Row {
	rows := t.references()
	for i, name := range t.names {
		row := study.Row{Case: t.world.Name, Method: name, Measure: study.LogLikelihood}
		gain := 0.0
		for seed, s := range t.all[name] {
			row.Values = append(row.Values, s.LogLikelihood)
			if i%2 == 1 {
				gain += (s.LogLikelihood - t.all[t.names[i-1]][seed].LogLikelihood) / float64(len(t.all[name]))
			}
		}
		if i%2 == 1 {
			row.Why = "at least the plain one's"
			if gain < -tie {
				row.Why = "below the plain one's"
			}
		}
		rows = append(rows, row.Mean())
	}
	return rows
}
