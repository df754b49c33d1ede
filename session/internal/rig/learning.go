package rig

import (
	"encoding/json"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// learningCase is a small learning problem.
type learningCase struct {
	Config pvi.Config
	Parts  []bayes.Data
}

func LearningCases() map[string]learningCase {
	logistic := pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 5, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}},
		Features: 4, PriorPrecision: 1, PrecisionFloor: 1, FracBits: 24, DampingBits: 16,
		Damping: 0.3, DampingDecay: 0.1, Beta: 0.5,
	}
	linear := pvi.Config{
		Model: bayes.Linear, Family: gauss.Full, Strategy: pvi.Dataset{}, Features: 4,
		PriorPrecision: 1, PrecisionFloor: 1, FracBits: 20, DampingBits: 16, Damping: 0.5,
		NoiseSD: 0.5,
	}
	return map[string]learningCase{
		"logistic": {logistic, randomParts(true)},
		"linear":   {linear, randomParts(false)},
	}
}

// randomParts are the records of three parties, 40 and more, of four columns.
func randomParts(classes bool) []bayes.Data {
	const parties, rows, features = 3, 40, 4
	rng := mathrand.New(mathrand.NewPCG(3, 4))
	parts := make([]bayes.Data, parties)
	for i := range parts {
		for range rows + 7*i {
			a := 0.0
			for j := range features {
				x := rng.NormFloat64()
				if j == features-1 {
					x = 1
				}
				a += x * float64(1-j)
				parts[i].X = append(parts[i].X, x)
			}
			y := a + 0.5*rng.NormFloat64()
			if classes {
				y = 0
				if rng.Float64() < 1/(1+math.Exp(-a)) {
					y = 1
				}
			}
			parts[i].Y = append(parts[i].Y, y)
		}
	}
	return parts
}

func LearningPlan(t *testing.T, c learningCase, noise protocol.Placement, rounds int) (*run.Local,
	[]*pvi.Learner) {
	t.Helper()
	return LearningPlanOf(t, c, func(ts *terms.Terms) { ts.Rounds, ts.Noise = rounds, noise })
}

// learningPlanAt is a private plan of three rounds.
func LearningPlanAt(t *testing.T, c learningCase, epsilon float64) (*run.Local, []*pvi.Learner) {
	t.Helper()
	return LearningPlanOf(t, c, func(ts *terms.Terms) {
		ts.Rounds, ts.Noise, ts.Epsilon, ts.Delta = 3, protocol.NoiseParty, epsilon, 1e-5
	})
}

func LearningPlanOf(t *testing.T, c learningCase, adjust func(*terms.Terms)) (*run.Local, []*pvi.Learner) {
	t.Helper()
	schema := &dataset.Schema{Version: 1, Source: "test", Target: dataset.Numeric("y", -1, 1),
		Missing: dataset.Refuse, Unseen: dataset.Refuse}
	for j := range c.Config.Features - 1 {
		schema.Columns = append(schema.Columns, dataset.Numeric(fmt.Sprintf("x%d", j), -1, 1))
	}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(c.Parts))
	for i := range weights {
		weights[i] = 1 / float64(len(weights))
	}
	list, keys := Members(t, len(c.Parts), 3)
	ts := Terms(list)
	adjust(&ts)
	p, err := ts.Learn(app.PVI{PVI: c.Config, Weights: weights, Schema: json.RawMessage(canonical)})
	if err != nil {
		t.Fatal(err)
	}
	l := Local(t, p, keys)
	if l.Model, err = app.NewModel(p); err != nil {
		t.Fatal(err)
	}
	learners := make([]*pvi.Learner, len(c.Parts))
	for i, part := range c.Parts {
		if learners[i], err = pvi.NewLearner(c.Config, part, weights[i]); err != nil {
			t.Fatal(err)
		}
	}
	l.App = func(i uint32) protocol.Application { return app.NewPVIParty(learners[i], nil) }
	l.Proposer = func(i uint32) protocol.Proposer { return app.NewPVIParty(learners[i], nil) }
	return l, learners
}
