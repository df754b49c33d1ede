package app

import (
	"context"
	"fmt"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/learn/centre"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
)

// centring is the public side of DP-PVI whose first rounds measure the columns' frame. Its
// state is DP-PVI's, followed by that of package centre.
type centring struct{ spec *PVI }

func (c centring) Initial() []int64 {
	return append(c.spec.PVI.Initial(), make([]int64, 1+c.spec.PVI.Dim())...)
}

func (c centring) split(state []int64) (learning, measured []int64, err error) {
	dim := c.spec.PVI.Dim()
	if len(state) != 2*dim+1 || state[dim] < 0 {
		return nil, nil, fmt.Errorf("state: %w", pvi.ErrShape)
	}
	return state[:dim], state[dim:], nil
}

// Fold adds a measuring round's sum to the measured part, and any other to DP-PVI's, whose
// rounds are counted from the first that learns.
func (c centring) Fold(round int, state, sum []int64) ([]int64, error) {
	learning, measured, err := c.split(state)
	if err != nil || len(sum) != len(learning) {
		return nil, fmt.Errorf("fold of round %d: %w", round, pvi.ErrShape)
	}
	if round > c.spec.CentreRounds {
		next, err := c.spec.PVI.Fold(round-c.spec.CentreRounds, learning, sum)
		return append(slices.Clip(next), measured...), err
	}
	next := slices.Clone(state)
	measured = next[len(learning):]
	measured[0]++
	for i := range c.spec.PVI.Dim() {
		v := measured[1+i] + sum[i]
		if (sum[i] > 0) != (v > measured[1+i]) && sum[i] != 0 {
			return nil, fmt.Errorf("fold of round %d, coordinate %d: %w", round, i, pvi.ErrOverflow)
		}
		measured[1+i] = v
	}
	return next, nil
}

// Frame returns where a public state's columns lie within their ranges, for those that are
// encoded by their range; nil for a plan that measures none.
func (l *PVI) Frame(p *protocol.Plan, state []int64) (*centre.Frame, error) {
	if l.CentreRounds == 0 {
		return nil, nil
	}
	_, measured, err := centring{l}.split(state)
	if err != nil {
		return nil, err
	}
	columns, err := l.columns()
	if err != nil {
		return nil, err
	}
	f := columns.Frame(measured, SumVariance(first(p)))
	return &f, nil
}

// learning returns the part of a public state that is DP-PVI's.
func (l *PVI) learning(state []int64) ([]int64, error) {
	if l.CentreRounds == 0 {
		return state, nil
	}
	raw, _, err := centring{l}.split(state)
	return raw, err
}

// after returns the posterior of centred columns for records as they are encoded, with the
// frame of a public state.
func (l *PVI) after(p *protocol.Plan, state []int64, q *pvi.Posterior) (*pvi.Posterior, error) {
	frame, err := l.Frame(p, state)
	if err != nil || frame == nil {
		return q, err
	}
	columns, err := l.columns()
	if err != nil {
		return nil, err
	}
	return q.After(func(x []float64) []float64 { return columns.Recode(x, *frame) }), nil
}

// columns are those that are centred.
func (l *PVI) columns() (centre.Columns, error) {
	schema, err := l.Encoding()
	if err != nil {
		return centre.Columns{}, err
	}
	return centre.Of(schema), nil
}

// checkCentring returns an error unless the measuring rounds have the sensitivity of those
// that learn.
func (l *PVI) checkCentring() error {
	c := l.PVI
	switch {
	case l.CentreRounds == 0:
		return nil
	case l.CentreRounds < 0 || l.CentreRounds > protocol.MaxRounds:
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 to %d", l.CentreRounds, protocol.MaxRounds)
	case c.Model != pvi.Logistic || c.Family != gauss.MeanField:
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 unless the model is logistic in the "+
			"mean-field family", l.CentreRounds)
	case c.Strategy.Name() != pvi.NameVirtual || c.Strategy.Params().Local || !(c.Clip > 0):
		return fmt.Errorf("parameters: centre_rounds is %d, want 0 unless the strategy is virtual with joint "+
			"noise and a clip", l.CentreRounds)
	}
	return nil
}

// centredParty measures in the first rounds and learns from centred columns in the others.
type centredParty struct {
	model
	PartyConfig
	spec    *PVI
	columns centre.Columns
	// learner of the data as encoded: it only has states, which don't depend on the encoding.
	learner *pvi.Learner
	// centred learns; it is made in the first round that learns, in this frame.
	centred *pvi.Learner
	frame   centre.Frame
}

func (l *PVI) joinCentred(c PartyConfig, learner *pvi.Learner) (Party, error) {
	if c.Outside != nil {
		return nil, fmt.Errorf("a program can't compute the updates of a plan that centres columns: " +
			"its plan must have centre_rounds = 0")
	}
	columns, err := l.columns()
	if err != nil {
		return nil, err
	}
	return &centredParty{model: model{centring{l}}, PartyConfig: c, spec: l, columns: columns,
		learner: learner}, nil
}

func (p *centredParty) InitialState() []byte { return p.learner.InitialState() }

func (p *centredParty) Settle(round uint32, state, memo []byte) ([]byte, error) {
	if int(round) <= p.spec.CentreRounds {
		return state, nil
	}
	return p.learner.Settle(int(round)-p.spec.CentreRounds, state, memo)
}

func (p *centredParty) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	if int(w.Round) <= p.spec.CentreRounds {
		return p.measure(w.Round)
	}
	if err := p.centreAt(w.Model); err != nil {
		return nil, nil, err
	}
	learning, _, err := centring{p.spec}.split(w.Model)
	if err != nil {
		return nil, nil, err
	}
	made, err := p.centred.Propose(ctx, int(w.Round)-p.spec.CentreRounds, learning, w.State)
	if err != nil {
		return nil, nil, err
	}
	p.report(w.Round, made.ClippedFraction)
	return made.Update, made.Memo, nil
}

func (p *centredParty) measure(round uint32) ([]int64, []byte, error) {
	c := p.spec.PVI
	grid := fixedpoint.Grid{FracBits: c.FracBits}
	bound, err := grid.IntBound(c.Clip)
	if err != nil {
		return nil, nil, err
	}
	sum := make([]int64, c.Dim())
	clipped, err := p.columns.Sum(sum, p.Data, c.Strategy.Params().Shards, grid, c.Clip, bound)
	if err != nil {
		return nil, nil, err
	}
	p.report(round, clipped)
	return sum, []byte{}, nil
}

// centreAt makes the learner for the frame in a state.
func (p *centredParty) centreAt(state []int64) error {
	frame, err := p.spec.Frame(p.Plan, state)
	if err != nil || p.centred != nil && slices.Equal(frame.Centres, p.frame.Centres) &&
		slices.Equal(frame.Units, p.frame.Units) {
		return err
	}
	data := pvi.Data{X: p.columns.Recode(p.Data.X, *frame), Y: p.Data.Y}
	if p.centred, err = pvi.NewLearner(p.spec.PVI, data, p.spec.Weights[p.Party]); err != nil {
		return err
	}
	p.frame = *frame
	return nil
}
