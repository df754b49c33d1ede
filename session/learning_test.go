package session

import (
	"encoding/json"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
)

// learningCase is a small learning problem.
type learningCase struct {
	cfg   pvi.Config
	parts []pvi.Data
}

func learningCases() map[string]learningCase {
	logistic := pvi.Config{Model: pvi.Logistic, Family: gauss.MeanField, Strategy: pvi.Virtual, Features: 4, Shards: 5,
		PriorPrecision: 1, PrecisionFloor: 1, FracBits: 24, DampingBits: 16, Damping: 0.3, DampingDecay: 0.1, Beta: 0.5, Steps: 5, LearningRate: 0.05}
	linear := pvi.Config{Model: pvi.Linear, Family: gauss.Full, Strategy: pvi.Dataset, Features: 4, Shards: 1,
		PriorPrecision: 1, PrecisionFloor: 1, FracBits: 20, DampingBits: 16, Damping: 0.5, NoiseSD: 0.5}
	return map[string]learningCase{
		"logistic": {logistic, randomParts(3, 40, 4, true)},
		"linear":   {linear, randomParts(3, 40, 4, false)},
	}
}

func randomParts(parties, rows, features int, classes bool) []pvi.Data {
	rng := mathrand.New(mathrand.NewPCG(3, 4))
	parts := make([]pvi.Data, parties)
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

func learningPlan(t *testing.T, c learningCase, noise protocol.Placement, rounds int) (*Local, []*pvi.Learner) {
	t.Helper()
	return learningPlanOf(t, c, func(ts *Terms) { ts.Rounds, ts.Noise = rounds, noise })
}

// learningPlanAt is a private plan of three rounds.
func learningPlanAt(t *testing.T, c learningCase, epsilon float64) (*Local, []*pvi.Learner) {
	t.Helper()
	return learningPlanOf(t, c, func(ts *Terms) {
		ts.Rounds, ts.Noise, ts.Epsilon, ts.Delta = 3, protocol.NoiseParty, epsilon, 1e-5
	})
}

func learningPlanOf(t *testing.T, c learningCase, adjust func(*Terms)) (*Local, []*pvi.Learner) {
	t.Helper()
	schema := &dataset.Schema{Version: 1, Source: "test", Target: dataset.Numeric("y", -1, 1), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	for j := range c.cfg.Features - 1 {
		schema.Columns = append(schema.Columns, dataset.Numeric(fmt.Sprintf("x%d", j), -1, 1))
	}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(c.parts))
	for i := range weights {
		weights[i] = 1 / float64(len(weights))
	}
	list, keys := members(t, len(c.parts), 3)
	ts := terms(list)
	adjust(&ts)
	p, err := ts.Learn(Learning{PVI: c.cfg, Weights: weights, Schema: json.RawMessage(canonical)})
	if err != nil {
		t.Fatal(err)
	}
	l := local(t, p, keys)
	if l.Model, err = NewModel(p); err != nil {
		t.Fatal(err)
	}
	learners := make([]*pvi.Learner, len(c.parts))
	for i, part := range c.parts {
		if learners[i], err = pvi.NewLearner(c.cfg, part, weights[i]); err != nil {
			t.Fatal(err)
		}
	}
	l.App = func(i uint32) protocol.Application { return NewLearner(learners[i], nil) }
	l.Proposer = func(i uint32) protocol.Proposer { return NewLearner(learners[i], nil) }
	return l, learners
}

// TestPairsLearnTheSame: two coordinates in an element change no integer of what is learnt, and
// no number of a private plan's claim.
func TestPairsLearnTheSame(t *testing.T) {
	c := learningCases()["logistic"]
	c.cfg.Clip = 0.1
	plan := func(paired bool, noise protocol.Placement, epsilon, delta float64) (*Local, []*pvi.Learner) {
		return learningPlanOf(t, c, func(ts *Terms) {
			ts.Rounds, ts.Paired, ts.Noise, ts.Epsilon, ts.Delta = 4, paired, noise, epsilon, delta
		})
	}
	l, learners := plan(true, protocol.NoiseNone, 0, 0)
	secure, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := pvi.Run(t.Context(), c.cfg, learners, nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(secure.Model, plain.Final()) || slices.Equal(plain.Final(), c.cfg.Initial()) {
		t.Errorf("secure %v\nplain  %v", secure.Model, plain.Final())
	}
	pairs, _ := plan(true, protocol.NoiseParty, 1, 1e-5)
	single, _ := plan(false, protocol.NoiseParty, 1, 1e-5)
	with, without := *pairs.Session.Plan, *single.Session.Plan
	if with.Variance == 0 || with.Variance != without.Variance || with.Sensitivity != without.Sensitivity || with.Elements() != (int(with.Dim)+1)/2 {
		t.Errorf("%+v\n%+v", with, without)
	}
	cost, whole := costOf(&with), costOf(&without)
	if saved := whole.UploadPerParty - cost.UploadPerParty; saved != 8*(int(with.Dim)/2) {
		t.Errorf("pairs save %d bytes of %d", saved, whole.UploadPerParty)
	}
	if report, err := pairs.Run(t.Context()); err != nil || slices.Equal(report.Model, secure.Model) {
		t.Errorf("a private session of pairs: %v", err)
	}
}

// TestSecureEqualsPlain: with the noise off, the secure session ends in the
// very integers of a plain in-memory run, for both models, in memory and over
// NATS; the posterior is then equal on the grid.
func TestSecureEqualsPlain(t *testing.T) {
	const rounds = 4
	ran := 0
	for name, c := range learningCases() {
		for _, bus := range []string{"memory", "nats"} {
			t.Run(name+"/"+bus, func(t *testing.T) {
				l, learners := learningPlan(t, c, protocol.NoiseNone, rounds)
				if bus == "nats" {
					overNATS(t, l)
				}
				secure, err := l.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				plain, err := pvi.Run(t.Context(), c.cfg, learners, nil, rounds)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Equal(plain.Final(), c.cfg.Initial()) {
					t.Fatal("the plain run learnt nothing: the comparison would be empty")
				}
				if !slices.Equal(secure.Model, plain.Final()) {
					t.Errorf("secure %v\nplain  %v", secure.Model, plain.Final())
				}
			})
			ran++
		}
	}
	if ran != 4 {
		t.Fatalf("%d cases ran, not 4", ran)
	}
}
