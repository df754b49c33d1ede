package paper4

import (
	"context"
	"fmt"

	"choir/experiment"
	"choir/experiment/lab"
	"choir/experiment/study"
	"choir/pvi"
	"choir/pvi/gauss"
)

// method is one way to learn, with one setting of everything for all splits.
type method struct {
	name   string
	paper  string // its nearest relative in the paper, empty: none
	rounds int
	power  float64               // see lab.Learning.ShardPower
	bars   map[string][2]float64 // by split: accuracy and log-likelihood to reach
	config func(features int) pvi.Config
}

// logistic is the paper's model: mean-field, prior N(0, I).
func logistic(features int) pvi.Config {
	return pvi.Config{Model: pvi.Logistic, Family: gauss.MeanField, Features: features, PriorPrecision: 1, PrecisionFloor: 1, DampingBits: 16}
}

// run learns once over the secure sum.
func (m method) run(ctx context.Context, o study.Options, data *experiment.Data, epsilon float64, seed uint64) (*lab.Trace, error) {
	l := lab.Learning{Name: m.name, Seed: seed, Data: data, Config: m.config(data.Schema.Dim()), Rounds: m.rounds, ShardPower: m.power, Epsilon: epsilon, Delta: 1e-5,
		Transport: o.Transport, Dir: o.Dir}
	if o.Quick {
		l.Rounds = min(l.Rounds, 2)
	}
	return l.Run(ctx)
}

// virtual is virtual clients with noise-free, tied factors and decreasing damping.
func virtual(shards int) method {
	return method{name: "virtual clients", paper: "virtual clients, trusted aggregator", rounds: 15,
		config: func(features int) pvi.Config {
			c := logistic(features)
			c.Strategy, c.Shards, c.Clip, c.Beta = pvi.Virtual, shards, 0.05, 0.75
			c.Steps, c.LearningRate, c.Damping, c.DampingDecay = 5, 0.05, 0.1, 0.1
			return c
		}}
}

// describe is a method's hyper-parameters as the page shows them.
func (m method) describe() study.Setting {
	c := m.config(1)
	return study.Setting{Name: m.name, Value: fmt.Sprintf("(%d rounds, %d shards a client, C %g, %d Adam steps of %g, damping %g / (1 + %g (s-1)), beta %g)",
		m.rounds, c.Shards, c.Clip, c.Steps, c.LearningRate, c.Damping, c.DampingDecay, c.Beta)}
}
