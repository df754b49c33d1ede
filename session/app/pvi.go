package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
)

// PVI has the parameters of the application "dp-pvi": all that members agree on in
// public to learn one model by partitioned variational inference [DP-PVI].
type PVI struct {
	Version int        `json:"version"` // 1
	PVI     pvi.Config `json:"pvi"`
	// Weights is each party's public share of all records, in roster order. The
	// shares are declared, never derived from a secret number of records; only tied
	// factors (pvi.beta > 0), the start's precision and shard_power use them.
	Weights []float64 `json:"weights"`
	// Schema describes how columns are encoded; its bounds are public.
	Schema json.RawMessage `json:"schema"`
	// Records is the declared number of all parties' records; 0: not declared. Only
	// the choice of settings may depend on it.
	Records int64 `json:"records,omitempty"`
	// CentreRounds is how many rounds, the first ones, measure where the columns that are
	// encoded by their range lie within it; see package centre. The others learn.
	CentreRounds int `json:"centre_rounds,omitempty"`
	// Evaluation has the terms of the rounds that evaluate on held-out records; nil: none do.
	Evaluation *evaluate.Config `json:"evaluation,omitempty"`
}

// Name is "dp-pvi".
func (l *PVI) Name() string { return NamePVI }

// Marshal implements Spec.
func (l *PVI) Marshal() ([]byte, error) { return Canonical(l) }

func (l *PVI) validate() error {
	if err := checkVersion(l.Version); err != nil {
		return err
	}
	if err := l.PVI.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if err := l.checkCentring(); err != nil {
		return err
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

// Encoding implements Spec.
func (l *PVI) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(l.Schema) }

// PVIOf is Of for plans of the application "dp-pvi".
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

// Size implements Spec.
func (l *PVI) Size() (dim int, fracBits uint8) { return l.evaluation().size(l.innerSize()) }

func (l *PVI) innerSize() (dim int, fracBits uint8) { return l.PVI.Dim(), l.PVI.FracBits }

func (l *PVI) evaluation() evaluated { return evaluated{l.Evaluation} }

// LearningRounds is how many of a plan's rounds don't evaluate.
func (l *PVI) LearningRounds(p *protocol.Plan) int { return l.Evaluation.Learning(int(p.AllRounds())) }

// Mechanism implements Spec.
func (l *PVI) Mechanism() (pvi.Mechanism, error) {
	return l.evaluation().mechanism(l.innerMechanism())
}

func (l *PVI) innerMechanism() (pvi.Mechanism, error) { return l.PVI.Mechanism() }

// Check implements Spec.
func (l *PVI) Check(p *protocol.Plan) error {
	if len(l.Weights) != p.Parties() {
		return fmt.Errorf("%d weights for %d parties", len(l.Weights), p.Parties())
	}
	if err := l.centring().check(l.LearningRounds(p)); err != nil {
		return err
	}
	if split, ok := l.PVI.Strategy.(pvi.BCMSplit); ok && split.Parties != p.Parties() {
		return fmt.Errorf("the prior is split among %d members, the plan has %d parties",
			split.Parties, p.Parties())
	}
	if err := checkSchema(l.Schema, l.PVI.Features); err != nil {
		return err
	}
	schema, err := l.Encoding()
	if err == nil {
		err = l.evaluation().check(p.AllRounds(), schema, l.PVI.Model)
	}
	if err != nil || p.Noise == protocol.NoiseNone {
		return err
	}
	return l.checkMissing()
}

// checkMissing refuses schemas under which one changed record affects others. A
// record that is dropped for a missing value moves those after it to other shards and
// changes the size of a draw of fixed size. The sensitivity assumes that neither
// happens.
func (l *PVI) checkMissing() error {
	schema, err := l.Encoding()
	if err != nil || schema.Missing != dataset.Drop {
		return err
	}
	if own := l.PVI.Strategy.Params(); own.Shards > 1 || own.Sampling == pvi.SamplingFixed {
		return fmt.Errorf("the schema drops records with missing values, which moves others between shards " +
			"or changes the size of a draw: agree on missing = \"zero\", or on \"refuse\" and files without such " +
			"records")
	}
	return nil
}

// Model implements Spec.
func (l *PVI) Model(p *protocol.Plan) protocol.Model {
	return l.evaluation().model(p.AllRounds(), l.PVI.Dim(), model{l.centring()})
}

// Posterior implements Spec. Its weights are those of centred columns; it predicts for
// records as they are encoded.
func (l *PVI) Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	raw, _, err := l.centring().split(state)
	if err != nil {
		return nil, err
	}
	q, err := l.PVI.Posterior(raw)
	if err != nil {
		return nil, err
	}
	return l.centring().after(p, state, q)
}

// centring is how the first rounds measure: at the dataset level by one vector, the mean of a party's
// records; with noise at every party by as many noisy sums as it takes steps.
func (l *PVI) centring() centring {
	p := l.PVI.Strategy.Params()
	c := centring{folder: l.PVI, rounds: l.CentreRounds, dim: l.PVI.Dim(), schema: once(l.Schema),
		groups: max(1, p.Shards), clip: l.PVI.Clip, bits: l.PVI.FracBits, rate: 1, releases: 1}
	if p.Local {
		c.groups, c.releases = 0, max(1, p.Steps)
	}
	return c
}

// checkCentring returns an error unless the measuring rounds have the sensitivity of those
// that learn.
func (l *PVI) checkCentring() error {
	c := l.PVI
	if l.CentreRounds == 0 {
		return nil
	}
	switch {
	case c.Model != bayes.Linear && (c.Model != bayes.Logistic || c.Family != gauss.MeanField):
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 unless the model is linear, or logistic in the "+
			"mean-field family", l.CentreRounds)
	case !slices.Contains([]pvi.StrategyName{pvi.NameVirtual, pvi.NameDataset, pvi.NameOptimisation},
		c.Strategy.Name()) || !(c.Clip > 0):
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 unless the strategy is virtual, dataset or "+
			"optimisation with a clip", l.CentreRounds)
	case c.Strategy.Params().Local != (c.Strategy.Name() == pvi.NameOptimisation):
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 with strategy %q and noise at every party",
			l.CentreRounds, c.Strategy.Name())
	}
	return nil
}

// Join implements Spec. With local noise the plan's variance is what the party adds
// in each of its steps; a plan without noise adds none.
func (l *PVI) Join(c PartyConfig) (Party, error) {
	return l.evaluation().join(c, l, func(c PartyConfig) (Party, error) { return l.centring().join(c, l.join) })
}

func (l *PVI) join(c PartyConfig) (Party, error) {
	p, err := pvi.NewLearner(l.PVI, c.Data, l.Weights[c.Party])
	if err != nil {
		return nil, err
	}
	if c.Outside != nil {
		own, err := c.Outside(c.Data, p.Shards())
		if err != nil {
			return nil, err
		}
		if p, err = p.WithOutside(own); err != nil {
			return nil, err
		}
	}
	if l.PVI.Strategy.Params().Local {
		if p, err = p.WithNoise(c.Plan.Variance, c.Rand); err != nil {
			return nil, err
		}
	}
	return &pviParty{model{l.PVI}, PartyConfig{Report: c.Report}, p, &exporter{app: l, plan: c.Plan}}, nil
}

// NewPVIParty returns the party's side of a pvi.Learner. report may be nil; see
// PartyConfig.Report.
func NewPVIParty(l *pvi.Learner, report func(round uint32, clipped float64)) Party {
	return &pviParty{model{l.Config()}, PartyConfig{Report: report}, l, nil}
}

// pviParty is a party's side of DP-PVI, with its factors as private state.
type pviParty struct {
	model
	PartyConfig
	learner *pvi.Learner
	export  *exporter // nil: residuals are those of the public posterior
}

// InitialState implements protocol.Application.
func (p *pviParty) InitialState() []byte { return p.learner.InitialState() }

// Settle implements protocol.Application.
func (p *pviParty) Settle(round uint32, state, memo []byte) ([]byte, error) {
	return p.learner.Settle(int(round), state, memo)
}

// Propose implements protocol.Proposer.
func (p *pviParty) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	made, err := p.propose(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	p.report(w.Round, made.ClippedFraction)
	return made.Update, made.Memo, nil
}

func (p *pviParty) propose(ctx context.Context, w protocol.Work) (pvi.Proposal, error) {
	c := p.learner.Config()
	if p.export == nil || !c.ResidualRound(int(w.Round)) || c.Strategy.Params().Optimiser == pvi.Newton {
		return p.learner.Propose(ctx, int(w.Round), w.Model, w.State)
	}
	q, ok := p.export.aware(w)
	if !ok {
		return p.learner.Propose(ctx, int(w.Round), w.Model, w.State)
	}
	return p.learner.ProposeResiduals(int(w.Round), q.Fitted(), w.State)
}
