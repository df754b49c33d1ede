package app

import (
	"context"
	"encoding/json"
	"fmt"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/protocol"
)

// GlobalVI has the parameters of the application "global-vi": global variational
// inference by noisy sums of gradients over joint samples.
type GlobalVI struct {
	Version int             `json:"version"` // 1
	Global  global.Config   `json:"global"`
	Schema  json.RawMessage `json:"schema"` // how columns are encoded
	// CentreRounds is that of PVI.
	CentreRounds int `json:"centre_rounds,omitempty"`
	// Evaluation is that of PVI.
	Evaluation *evaluate.Config `json:"evaluation,omitempty"`
}

// Name is "global-vi".
func (g *GlobalVI) Name() string { return NameGlobal }

// Marshal implements Spec.
func (g *GlobalVI) Marshal() ([]byte, error) { return Canonical(g) }

func (g *GlobalVI) validate() error {
	if err := checkVersion(g.Version); err != nil {
		return err
	}
	if err := g.Global.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if g.CentreRounds != 0 && g.Global.Model != bayes.Logistic {
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 unless the model is logistic", g.CentreRounds)
	}
	return nil
}

// LearningRounds is that of PVI.
func (g *GlobalVI) LearningRounds(p *protocol.Plan) int {
	return g.Evaluation.Learning(int(p.AllRounds()))
}

// centring is how the first rounds measure: by records, as gradients are summed.
func (g *GlobalVI) centring() centring {
	return centring{folder: g.Global, rounds: g.CentreRounds, dim: g.Global.Dim(), schema: once(g.Schema),
		clip: g.Global.Clip, bits: g.Global.FracBits, rate: g.Global.SampleRate, releases: 1}
}

// Encoding implements Spec.
func (g *GlobalVI) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(g.Schema) }

// Size implements Spec.
func (g *GlobalVI) Size() (dim int, fracBits uint8) { return g.evaluation().size(g.innerSize()) }

func (g *GlobalVI) innerSize() (dim int, fracBits uint8) { return g.Global.Dim(), g.Global.FracBits }

func (g *GlobalVI) evaluation() evaluated { return evaluated{g.Evaluation} }

// Mechanism implements Spec.
func (g *GlobalVI) Mechanism() (pvi.Mechanism, error) {
	return g.evaluation().mechanism(g.innerMechanism())
}

func (g *GlobalVI) innerMechanism() (pvi.Mechanism, error) { return g.Global.Mechanism() }

// Check implements Spec.
func (g *GlobalVI) Check(p *protocol.Plan) error {
	if err := checkSchema(g.Schema, g.Global.Features); err != nil {
		return err
	}
	schema, err := g.Encoding()
	if err != nil {
		return err
	}
	if err := g.centring().check(g.LearningRounds(p)); err != nil {
		return err
	}
	return g.evaluation().check(p.AllRounds(), schema, g.Global.Model)
}

// Model implements Spec.
func (g *GlobalVI) Model(p *protocol.Plan) protocol.Model {
	return g.evaluation().model(p.AllRounds(), g.Global.Dim(), model{g.centring()})
}

// Posterior implements Spec.
func (g *GlobalVI) Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	raw, _, err := g.centring().split(state)
	if err != nil {
		return nil, err
	}
	q, err := g.Global.Posterior(raw)
	if err != nil {
		return nil, err
	}
	return g.centring().after(p, state, q)
}

// Join implements Spec. Every contribution is over a new sample.
func (g *GlobalVI) Join(c PartyConfig) (Party, error) {
	return g.evaluation().join(c, g, func(c PartyConfig) (Party, error) { return g.centring().join(c, g.join) })
}

func (g *GlobalVI) join(c PartyConfig) (Party, error) {
	l, err := global.NewLearner(g.Global, c.Data)
	if err != nil {
		return nil, err
	}
	if c.Rand == nil && g.Global.SampleRate < 1 {
		return nil, fmt.Errorf("global inference: no source of randomness for the samples")
	}
	propose := func(ctx context.Context, w protocol.Work) ([]int64, float64, error) {
		p, err := l.Propose(ctx, int(w.Round), w.Model, c.Rand)
		return p.Update, p.ClippedFraction, err
	}
	return stateless{model{g.Global}, c, propose}, nil
}
