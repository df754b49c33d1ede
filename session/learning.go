package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"choir/dataset"
	"choir/protocol"
	"choir/pvi"
)

// Application names in plans.
const (
	AppSum = "sum"
	AppPVI = "dp-pvi"
)

// Learning is what a plan of application "dp-pvi" carries in its parameters:
// everything public that every member must agree on to learn one model. Its
// canonical form is compact JSON in the order of the fields.
type Learning struct {
	Version int        `json:"version"` // 1
	PVI     pvi.Config `json:"pvi"`
	// Weights is each party's public share of all records, in roster order. They
	// are declared, never derived from a secret number of records; only tied
	// factors (pvi.beta > 0) use them.
	Weights []float64 `json:"weights"`
	// Schema says how columns are encoded; its bounds are public.
	Schema json.RawMessage `json:"schema"`
}

// Marshal is the canonical form. Nothing is escaped for HTML: the schema inside
// has a canonical form of its own, byte for byte.
func (l *Learning) Marshal() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ParseLearning accepts exactly what Marshal emits.
func ParseLearning(b []byte) (*Learning, error) {
	l := new(Learning)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	again, err := l.Marshal()
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if !bytes.Equal(again, b) {
		return nil, fmt.Errorf("parameters: not in canonical form")
	}
	return l, l.validate()
}

func (l *Learning) validate() error {
	if l.Version != 1 {
		return fmt.Errorf("parameters: version %d isn't 1", l.Version)
	}
	if err := l.PVI.Validate(); err != nil {
		return fmt.Errorf("parameters: %w", err)
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
func (l *Learning) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(l.Schema) }

// LearningOf reads a plan's parameters and holds them against the plan's own
// numbers: a plan whose application produces larger terms than its privacy
// claim covers must not be signed.
func LearningOf(p *protocol.Plan) (*Learning, error) {
	if p.Application != AppPVI {
		return nil, protocol.Fail(protocol.ClassInput, "plan: application %q isn't %q", p.Application, AppPVI)
	}
	l, err := ParseLearning(p.Parameters)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: %w", err)
	}
	if err := l.check(p); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: parameters: %w", err)
	}
	return l, nil
}

func (l *Learning) check(p *protocol.Plan) error {
	switch {
	case l.PVI.Dim() != int(p.Dim):
		return fmt.Errorf("the model has %d numbers, the plan's dim is %d", l.PVI.Dim(), p.Dim)
	case l.PVI.FracBits != p.FracBits:
		return fmt.Errorf("frac_bits is %d, the plan's is %d", l.PVI.FracBits, p.FracBits)
	case len(l.Weights) != p.Parties():
		return fmt.Errorf("%d weights for %d parties", len(l.Weights), p.Parties())
	}
	schema, err := l.Encoding()
	if err != nil {
		return err
	}
	if schema.Dim() != l.PVI.Features {
		return fmt.Errorf("the schema encodes %d columns, the model has %d features", schema.Dim(), l.PVI.Features)
	}
	if p.Noise == protocol.NoiseNone {
		return nil
	}
	return l.checkBounds(p)
}

// checkBounds: the application's clip and sensitivity are within the plan's.
func (l *Learning) checkBounds(p *protocol.Plan) error {
	per, err := l.PVI.PerParty()
	if err != nil {
		return err
	}
	sens, err := l.PVI.Sensitivity(pvi.ReplaceRecord)
	if err != nil {
		return err
	}
	if per > p.PerParty || sens > p.Sensitivity {
		return fmt.Errorf("one party's update reaches %d grid units and one record moves the sum by %d; the plan's per_party and sensitivity, %d and %d, don't cover that",
			per, sens, p.PerParty, p.Sensitivity)
	}
	return nil
}

// folding is the public side of DP-PVI as the roles see it.
type folding struct{ cfg pvi.Config }

// NewModel is the model that a plan's application folds.
func NewModel(p *protocol.Plan) (protocol.Model, error) {
	if p.Application == AppSum {
		return Sum{int(p.Dim)}, nil
	}
	l, err := LearningOf(p)
	if err != nil {
		return nil, err
	}
	return folding{l.PVI}, nil
}

func (f folding) Initial() []int64 { return f.cfg.Initial() }

func (f folding) Fold(round uint32, model, sum []int64) ([]int64, error) {
	return f.cfg.Fold(int(round), model, sum)
}

// learner is a party's side of DP-PVI.
type learner struct {
	folding
	l      *pvi.Learner
	report func(round uint32, clipped float64)
}

// NewLearner joins a pvi.Learner to the protocol. report, if not nil, is told
// the share of clipped shard updates; it is for the party's own eyes only.
func NewLearner(l *pvi.Learner, report func(round uint32, clipped float64)) interface {
	protocol.Application
	protocol.Proposer
} {
	return &learner{folding{l.Config()}, l, report}
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
	if a.report != nil {
		a.report(w.Round, p.ClippedFraction)
	}
	return p.Update, p.Memo, nil
}
