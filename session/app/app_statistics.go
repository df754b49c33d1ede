package app

import (
	"context"
	"encoding/json"
	"fmt"

	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/protocol"
)

// Statistics is what a plan of application "statistics" carries in its parameters:
// Bayesian linear regression from noisy sufficient statistics.
type Statistics struct {
	Version    int             `json:"version"` // 1
	Statistics stats.Config    `json:"statistics"`
	Schema     json.RawMessage `json:"schema"` // how columns are encoded
}

// Name is "statistics".
func (s *Statistics) Name() string { return NameStatistics }

// Marshal implements App.
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

// Encoding implements App.
func (s *Statistics) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(s.Schema) }

// Size implements App.
func (s *Statistics) Size() (dim int, fracBits uint8) {
	return s.Statistics.Dim(), s.Statistics.SumFracBits()
}

// Mechanism implements App.
func (s *Statistics) Mechanism() (pvi.Mechanism, error) { return s.Statistics.Mechanism() }

// Check implements App: one round at least must be left for the statistics.
func (s *Statistics) Check(p *protocol.Plan) error {
	if s.Statistics.MomentRounds >= int(p.Rounds) {
		return fmt.Errorf("moment_rounds is %d of %d rounds: none is left for the statistics", s.Statistics.MomentRounds, p.Rounds)
	}
	return checkSchema(s.Schema, s.Statistics.Features)
}

// Model implements App.
func (s *Statistics) Model() protocol.Model { return gathering{s.Statistics} }

// Posterior implements App.
func (s *Statistics) Posterior(p *protocol.Plan, state []int64) (*pvi.Posterior, error) {
	return s.Statistics.Predictive(state, SumVariance(p))
}

// Join implements App.
func (s *Statistics) Join(at PartyConfig) (Party, error) {
	l, err := stats.NewLearner(s.Statistics, at.Data, SumVariance(at.Plan))
	if err != nil {
		return nil, err
	}
	return &summariser{memoryless{gathering{s.Statistics}}, l, at}, nil
}

// gathering is the public side of sufficient statistics.
type gathering struct{ cfg stats.Config }

func (g gathering) Initial() []int64 { return g.cfg.Initial() }

func (g gathering) Fold(round uint32, model, sum []int64) ([]int64, error) {
	return g.cfg.Fold(int(round), model, sum)
}

// summariser is a party's side.
type summariser struct {
	memoryless
	l    *stats.Learner
	seat PartyConfig
}

func (a *summariser) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	p, err := a.l.Propose(ctx, int(w.Round), w.Model)
	if err != nil {
		return nil, nil, err
	}
	a.seat.report(w.Round, p.ClippedFraction)
	return p.Update, []byte{}, nil
}
