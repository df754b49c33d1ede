package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"choir/experiment"
	"choir/experiment/study"
	"choir/privacy"
	"choir/protocol"
	"choir/pvi"
	"choir/session"
)

// Learning is a session that learns one model.
type Learning struct {
	Name    string
	Seed    uint64
	Data    *experiment.Data
	Config  pvi.Config // FracBits 0: chosen by the clip
	Rounds  int
	Epsilon float64
	Delta   float64
	Noise   protocol.Placement // 0: party
	// ShardPower, if above 0, has a party with the public share w of all records keep
	// Config.Shards * w^ShardPower factors (rounded, at least 1) in place of
	// Config.Shards, which then is the number that a party with all the data would
	// keep. A record still moves one clipped vector, and a party's bound is smaller
	// than the plan's.
	ShardPower float64
	Transport  study.Transport
	Dir        string
}

// Trace is what a learning leaves: the scores on the test rows after every round, and
// what it cost.
type Trace struct {
	Scores []pvi.Scores // Scores[i] after round i+1
	Final  []int64      // the model after the last round
	Spent  study.Spent
}

// Last is the scores after the last round.
func (t *Trace) Last() pvi.Scores { return t.Scores[len(t.Scores)-1] }

// Run runs the session.
func (l Learning) Run(ctx context.Context) (*Trace, error) {
	schema, err := l.Data.Schema.Canonical()
	if err != nil {
		return nil, err
	}
	if l.Config.FracBits == 0 {
		l.Config.FracBits = session.GridFor(l.Config.Clip)
	}
	t, weights := new(Trace), l.Data.Weights()
	s := Session{Name: l.Name, Seed: l.Seed, Parties: len(l.Data.Parts), Transport: l.Transport, Dir: l.Dir,
		Plan: func(t session.Terms) (*protocol.Plan, error) {
			t.Rounds, t.Epsilon, t.Delta = l.Rounds, l.Epsilon, l.Delta
			if l.Noise != 0 {
				t.Noise = l.Noise
			}
			return t.Learn(session.Learning{PVI: l.Config, Weights: weights, Schema: json.RawMessage(schema)})
		},
		App: func(_ *protocol.Plan, i int) (App, error) {
			learner, err := pvi.NewLearner(l.configOf(weights[i]), l.Data.Parts[i], weights[i])
			if err != nil {
				return nil, err
			}
			return session.NewLearner(learner, nil), nil
		},
		Watch: func(_ int, raw []int64) error {
			scores, err := l.score(raw)
			t.Scores = append(t.Scores, scores)
			return err
		}}
	plan, rep, err := s.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", l.Name, l.Seed, err)
	}
	t.Final = rep.Model
	t.Spent, err = Spent(l.Name, plan)
	return t, err
}

// configOf is the configuration with the shards of a party with a share of the data.
func (l Learning) configOf(weight float64) pvi.Config {
	c := l.Config
	if l.ShardPower > 0 {
		c.Shards = max(1, int(math.Round(float64(c.Shards)*math.Pow(weight, l.ShardPower))))
	}
	return c
}

func (l Learning) score(raw []int64) (pvi.Scores, error) {
	p, err := l.Config.Posterior(raw)
	if err != nil {
		return pvi.Scores{}, err
	}
	return p.Evaluate(l.Data.Test)
}

// Spent is what a plan's rounds cost by the plan's own accountant.
func Spent(method string, p *protocol.Plan) (study.Spent, error) {
	b, ok, err := p.Spends(int(p.Rounds))
	if err != nil || !ok {
		return study.Spent{}, fmt.Errorf("lab: the plan of %s has no account: %w", method, err)
	}
	return study.Spent{Method: method, Epsilon: b.Epsilon, Delta: p.Delta, Accountant: b.Method, Relation: privacy.Relation(p.Relation).String(),
		Noise: noiseOf(p)}, nil
}

// noiseOf says how much noise a plan's sums carry, in the unit of its clip where it
// has one.
func noiseOf(p *protocol.Plan) string {
	unit, name := math.Ldexp(1, int(p.FracBits)), ""
	if p.Clip > 0 {
		unit, name = float64(p.Clip), " clips"
	}
	sd := math.Sqrt(float64(p.Variance)) / unit
	return fmt.Sprintf("standard deviation %.4g%s a coordinate from each of %d parties, %d of them counted as hidden, %d rounds", sd, name, p.Parties(), p.HiddenParts(), p.Rounds)
}
