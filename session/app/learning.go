package app

import (
	"context"
	"encoding/json"
	"fmt"

	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
)

// Learning is what a plan of application "dp-pvi" carries in its parameters:
// everything public that every member must agree on to learn one model. Its
// canonical form is compact JSON in the order of the fields.
type PVI struct {
	Version int        `json:"version"` // 1
	PVI     pvi.Config `json:"pvi"`
	// Weights is each party's public share of all records, in roster order. They
	// are declared, never derived from a secret number of records; only tied
	// factors (pvi.beta > 0) use them.
	Weights []float64 `json:"weights"`
	// Schema says how columns are encoded; its bounds are public.
	Schema json.RawMessage `json:"schema"`
	// Records is the declared number of all parties' records, 0 where none is declared.
	// Settings may have been chosen by it; nothing private rests on it.
	Records int64 `json:"records,omitempty"`
}

// Name is "dp-pvi".
func (l *PVI) Name() string { return NamePVI }

// Marshal is the canonical form.
func (l *PVI) Marshal() ([]byte, error) { return Canonical(l) }

func (l *PVI) validate() error {
	if err := checkVersion(l.Version); err != nil {
		return err
	}
	if err := l.PVI.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if l.Records < 0 {
		return fmt.Errorf("parameters: records is %d, want 0 or more", l.Records)
	}
	total := 0.0
	for i, w := range l.Weights {
		if !(w >= 0 && w <= 1) {
			return fmt.Errorf("parameters: weights[%d] is %v, want a share in [0, 1]", i, w)
		}
		total += w
	}
	if total > 1+1e-9 {
		return fmt.Errorf("parameters: weights add up to %v, more than 1", total)
	}
	return nil
}

// Encoding is the parsed schema.
func (l *PVI) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(l.Schema) }

// LearningOf is AppOf for plans of application "dp-pvi".
func PVIOf(p *protocol.Plan) (*PVI, error) {
	if p.Application != NamePVI {
		return nil, protocol.Fail(protocol.ClassInput, "plan: application %q isn't %q", p.Application, NamePVI)
	}
	a, err := Of(p)
	if err != nil {
		return nil, err
	}
	return a.(*PVI), nil
}

// Size implements App.
func (l *PVI) Size() (dim int, fracBits uint8) { return l.PVI.Dim(), l.PVI.FracBits }

// Mechanism implements App.
func (l *PVI) Mechanism() (pvi.Mechanism, error) { return l.PVI.Mechanism() }

// Check implements App.
func (l *PVI) Check(p *protocol.Plan) error {
	if len(l.Weights) != p.Parties() {
		return fmt.Errorf("%d weights for %d parties", len(l.Weights), p.Parties())
	}
	if split, ok := l.PVI.Strategy.(pvi.BCMSplit); ok && split.Parties != p.Parties() {
		return fmt.Errorf("the prior is split among %d members, the plan has %d parties", split.Parties, p.Parties())
	}
	if err := checkSchema(l.Schema, l.PVI.Features); err != nil || p.Noise == protocol.NoiseNone {
		return err
	}
	return l.checkPlaces()
}

// checkPlaces: one changed record must leave the others where they are. A record that
// is dropped for a missing value moves those after it to other shards, and changes how
// many a draw of fixed size takes; the sensitivity counts on neither.
func (l *PVI) checkPlaces() error {
	schema, err := l.Encoding()
	if err != nil || schema.Missing != dataset.Drop {
		return err
	}
	if own := l.PVI.Strategy.Params(); own.Shards > 1 || own.Sampling == pvi.SamplingFixed {
		return fmt.Errorf("the schema drops records with missing values, which moves others between shards or changes the size of a draw: missing must be zero or refuse")
	}
	return nil
}

// Model implements App.
func (l *PVI) Model() protocol.Model { return folding{l.PVI} }

// Posterior implements App.
func (l *PVI) Posterior(_ *protocol.Plan, state []int64) (*pvi.Posterior, error) {
	return l.PVI.Posterior(state)
}

// Join implements App. With local noise the plan's variance is what the party adds
// in each of its steps; a plan without noise adds none.
func (l *PVI) Join(s PartyConfig) (Party, error) {
	p, err := pvi.NewLearner(l.PVI, s.Data, l.Weights[s.Party])
	if err != nil {
		return nil, err
	}
	if s.Outside != nil {
		if p, err = p.WithOutside(s.Outside); err != nil {
			return nil, err
		}
	}
	if l.PVI.Strategy.Params().Local {
		if p, err = p.WithNoise(s.Plan.Variance, s.Rand); err != nil {
			return nil, err
		}
	}
	return NewPVIParty(p, s.Report), nil
}

// folding is the public side of DP-PVI as the roles see it.
type folding struct{ cfg pvi.Config }

func (f folding) Initial() []int64 { return f.cfg.Initial() }

func (f folding) Fold(round uint32, model, sum []int64) ([]int64, error) {
	return f.cfg.Fold(int(round), model, sum)
}

// learner is a party's side of DP-PVI.
type learner struct {
	folding
	l    *pvi.Learner
	seat PartyConfig
}

// NewLearner joins a pvi.Learner to the protocol. report, if not nil, is told
// the share of clipped terms; it is for the party's own eyes only.
func NewPVIParty(l *pvi.Learner, report func(round uint32, clipped float64)) Party {
	return &learner{folding{l.Config()}, l, PartyConfig{Report: report}}
}

func (a *learner) InitialState() []byte { return a.l.InitialState() }

func (a *learner) Settle(round uint32, state, memo []byte) ([]byte, error) {
	return a.l.Settle(int(round), state, memo)
}

func (a *learner) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	p, err := a.l.Propose(ctx, int(w.Round), w.Model, w.State)
	if err != nil {
		return nil, nil, err
	}
	a.seat.report(w.Round, p.ClippedFraction)
	return p.Update, p.Memo, nil
}
