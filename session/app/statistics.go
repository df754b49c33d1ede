package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/protocol"
)

// Statistics has the parameters of the application "statistics": Bayesian linear
// regression from noisy sufficient statistics [DCA].
type Statistics struct {
	Version    int             `json:"version"` // 1
	Statistics stats.Config    `json:"statistics"`
	Schema     json.RawMessage `json:"schema"` // how columns are encoded
	// Evaluation is that of PVI.
	Evaluation *evaluate.Config `json:"evaluation,omitempty"`
}

// Name is "statistics".
func (s *Statistics) Name() string { return NameStatistics }

// Marshal implements Spec.
func (s *Statistics) Marshal() ([]byte, error) { return Canonical(s) }

func (s *Statistics) validate() error {
	if err := checkVersion(s.Version); err != nil {
		return err
	}
	if err := s.Statistics.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return nil
}

// Encoding implements Spec.
func (s *Statistics) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(s.Schema) }

// Size implements Spec.
func (s *Statistics) Size() (dim int, fracBits uint8) { return s.evaluation().size(s.innerSize()) }

func (s *Statistics) innerSize() (dim int, fracBits uint8) {
	return s.Statistics.Dim(), s.Statistics.SumFracBits()
}

func (s *Statistics) evaluation() evaluated { return evaluated{s.Evaluation} }

// Mechanism implements Spec.
func (s *Statistics) Mechanism() (pvi.Mechanism, error) {
	return s.evaluation().mechanism(s.innerMechanism())
}

func (s *Statistics) innerMechanism() (pvi.Mechanism, error) { return s.Statistics.Mechanism() }

// Check implements Spec: after the moment rounds at least one must be left.
func (s *Statistics) Check(p *protocol.Plan) error {
	if n := s.Evaluation.Learning(int(p.AllRounds())); s.Statistics.MomentRounds >= n {
		return fmt.Errorf("moment_rounds is %d of %d rounds: none is left for the statistics",
			s.Statistics.MomentRounds, n)
	}
	if err := checkSchema(s.Schema, s.Statistics.Features); err != nil {
		return err
	}
	schema, err := s.Encoding()
	if err != nil {
		return err
	}
	if l := s.Statistics.Levels; len(l) > 0 && !slices.Equal(l, schema.Levels()) {
		return fmt.Errorf("levels are %v, the schema's categories have the columns %v", l, schema.Levels())
	}
	return s.evaluation().check(p.AllRounds(), schema, bayes.Linear)
}

// Model implements Spec.
func (s *Statistics) Model(p *protocol.Plan) protocol.Model {
	return s.evaluation().model(p.AllRounds(), s.Statistics.Dim(), model{s.Statistics})
}

// Posterior implements Spec.
func (s *Statistics) Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	q, err := s.Statistics.Predictive(state, SumVariance(p))
	if err != nil {
		return nil, err
	}
	return s.filled(q, state)
}

// filled is a posterior that predicts of missing numbers as those that were learnt from.
func (s *Statistics) filled(q *bayes.Posterior, state []int64) (*bayes.Posterior, error) {
	at, err := s.Statistics.Centres(state)
	if err != nil {
		return nil, err
	}
	return q.Filled(at), nil
}

// Join implements Spec.
func (s *Statistics) Join(c PartyConfig) (Party, error) { return s.evaluation().join(c, s, s.join) }

func (s *Statistics) join(c PartyConfig) (Party, error) {
	l, err := stats.NewLearner(s.Statistics, c.Data, SumVariance(c.Plan))
	if err != nil {
		return nil, err
	}
	propose := func(ctx context.Context, w protocol.Work) ([]int64, float64, error) {
		p, err := l.Propose(ctx, int(w.Round), w.Model)
		return p.Update, p.ClippedFraction, err
	}
	return stateless{model{s.Statistics}, c, propose}, nil
}
