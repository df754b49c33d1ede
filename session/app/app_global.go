package app

import (
	"context"
	"encoding/json"
	"fmt"

	"choir/learn/dataset"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/protocol"
)

// GlobalVI is what a plan of application "global-vi" carries in its parameters: global
// variational inference by noisy sums of gradients over joint samples.
type GlobalVI struct {
	Version int             `json:"version"` // 1
	Global  global.Config   `json:"global"`
	Schema  json.RawMessage `json:"schema"` // how columns are encoded
}

// Name is "global-vi".
func (g *GlobalVI) Name() string { return NameGlobal }

// Marshal implements App.
func (g *GlobalVI) Marshal() ([]byte, error) { return Canonical(g) }

func (g *GlobalVI) validate() error {
	if err := checkVersion(g.Version); err != nil {
		return err
	}
	if err := g.Global.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return nil
}

// Encoding implements App.
func (g *GlobalVI) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(g.Schema) }

// Size implements App.
func (g *GlobalVI) Size() (dim int, fracBits uint8) { return g.Global.Dim(), g.Global.FracBits }

// Mechanism implements App.
func (g *GlobalVI) Mechanism() (pvi.Mechanism, error) { return g.Global.Mechanism() }

// Check implements App.
func (g *GlobalVI) Check(*protocol.Plan) error { return checkSchema(g.Schema, g.Global.Features) }

// Model implements App.
func (g *GlobalVI) Model() protocol.Model { return descent{g.Global} }

// Posterior implements App.
func (g *GlobalVI) Posterior(_ *protocol.Plan, state []int64) (*pvi.Posterior, error) {
	return g.Global.Posterior(state)
}

// Join implements App.
func (g *GlobalVI) Join(s PartyConfig) (Party, error) {
	l, err := global.NewLearner(g.Global, s.Data)
	if err != nil {
		return nil, err
	}
	if s.Rand == nil && g.Global.SampleRate < 1 {
		return nil, fmt.Errorf("global inference: no source of randomness for the samples")
	}
	return &sampler{memoryless{descent{g.Global}}, l, s}, nil
}

// descent is the public side of global variational inference.
type descent struct{ cfg global.Config }

func (d descent) Initial() []int64 { return d.cfg.Initial() }

func (d descent) Fold(round uint32, model, sum []int64) ([]int64, error) {
	return d.cfg.Fold(int(round), model, sum)
}

// sampler is a party's side: every proposal is over a sample of its own.
type sampler struct {
	memoryless
	l    *global.Learner
	seat PartyConfig
}

func (a *sampler) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	p, err := a.l.Propose(ctx, w.Model, a.seat.Rand)
	if err != nil {
		return nil, nil, err
	}
	a.seat.report(w.Round, p.ClippedFraction)
	return p.Update, []byte{}, nil
}
