package calibration

import (
	"context"
	"fmt"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/internal/task"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
)

// world is generated data with known weights, shared out to parties with a budget.
type world struct {
	Name        string
	Linear      bool
	Rows        int // that train
	Columns     int
	Correlation float64 // of neighbouring columns
	Parties     int
	Epsilon     float64
	Intercept   float64 // 0: the generator's default
	Signal      float64 // standard deviation of logits, or predictions; 0: the generator's default
	Prior       bool    // weights are drawn from the prior, with the intercept, for any signal
}

func (w world) model() bayes.Model {
	if w.Linear {
		return bayes.Linear
	}
	return bayes.Logistic
}

// describe is the world in words.
func (w world) describe() string {
	s := fmt.Sprintf("%s: %s model, %d rows of %d columns, correlation %g, %d parties, epsilon %g", w.Name,
		w.model(), w.Rows, w.Columns, w.Correlation, w.Parties, w.Epsilon)
	if w.Intercept != 0 {
		s += fmt.Sprintf(", intercept %g", w.Intercept)
	}
	if w.Signal != 0 {
		s += fmt.Sprintf(", signal %g", w.Signal)
	}
	if w.Prior {
		s += ", weights drawn from the prior"
	}
	return s
}

// load draws the world's data.
func (w world) load(seed uint64) (*experiment.Data, []float64, error) {
	g := dataset.DefaultGenerator(w.Linear, seed)
	g.Rows = w.Rows * 5 / 4
	g.Features = w.Columns
	g.Correlation = w.Correlation
	if w.Intercept != 0 {
		g.Intercept = w.Intercept
	}
	if w.Signal != 0 {
		g.Signal = w.Signal
	}
	g.Prior = w.Prior
	made, err := g.Generate()
	if err != nil {
		return nil, nil, err
	}
	s := experiment.Source{Records: made.Records, Schema: made.Schema, Linear: w.Linear, Seed: seed,
		Parties: w.Parties, Train: 0.8}
	d, err := s.Load()
	return d, made.Weights, err
}

// way is a way of learning, by the plan's defaults.
type way struct {
	name     string
	strategy pvi.StrategyName
	method   experiment.Method
	model    bayes.Model // empty: both
}

func ways() []way {
	return []way{
		{"virtual", pvi.NameVirtual, experiment.MethodPVI, ""},
		{"dataset", pvi.NameDataset, experiment.MethodPVI, ""},
		{"optimisation", pvi.NameOptimisation, experiment.MethodPVI, bayes.Logistic},
		{"statistics", "", experiment.MethodStatistics, bayes.Linear},
		{"global", "", experiment.MethodGlobal, bayes.Logistic},
		{"trace", "", experiment.MethodMCMC, bayes.Logistic},
	}
}

// learn runs a session's rounds in the clear.
func (w world) learn(ctx context.Context, d *experiment.Data, m way,
	seed uint64) (*bed.Outcome, bed.Run, error) {
	t, err := task.Terms("calibration", w.Parties, w.Epsilon, m.strategy.Local())
	if err != nil {
		return nil, bed.Run{}, err
	}
	demo := experiment.Demo{Parties: w.Parties, Computes: 3, Epsilon: w.Epsilon, Delta: 1e-5,
		Model: w.model(), Method: m.method, Strategy: m.strategy}
	spec, rounds, err := demo.Spec(t, d)
	if err != nil {
		return nil, bed.Run{}, err
	}
	r := bed.Run{Name: "calibration " + m.name, Seed: seed, App: spec, Parts: d.Parts, Rounds: rounds,
		Epsilon: w.Epsilon, Delta: 1e-5}
	o, err := r.Do(ctx)
	return o, r, err
}
