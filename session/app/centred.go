package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
)

// centring is the public side of a method whose first rounds measure the columns' frame. Its state
// is the method's, followed by that of package centre. Without such rounds it is the method's.
type centring struct {
	folder                 // the method that learns
	rounds int             // that measure
	dim    int             // of a sum
	schema json.RawMessage // how columns are encoded
	// Measuring rounds have the terms of those that learn: each vector, the mean of a group of records, is
	// at most clip long, on the grid of frac bits.
	groups int // vectors of a party; 0: one for each record
	clip   float64
	bits   uint8
	rate   float64 // of a round's Poisson sample of the records
}

// measured is the length of the state of package centre.
func (c centring) measured() (int, error) {
	schema, err := dataset.ParseSchema(c.schema)
	if err != nil {
		return 0, err
	}
	return 1 + centre.Dim(schema), nil
}

// Initial implements folder.
func (c centring) Initial() []int64 {
	n, err := c.measured()
	if c.rounds == 0 || err != nil {
		return c.folder.Initial()
	}
	return append(c.folder.Initial(), make([]int64, n)...)
}

func (c centring) split(state []int64) (learning, measured []int64, err error) {
	if c.rounds == 0 {
		return state, nil, nil
	}
	n, err := c.measured()
	if err != nil {
		return nil, nil, err
	}
	if at := len(state) - n; at >= 0 && state[at] >= 0 {
		return state[:at:at], state[at:], nil
	}
	return nil, nil, fmt.Errorf("state: %w", pvi.ErrShape)
}

// Fold adds a measuring round's sum to the measured part, and any other to the method's, whose
// rounds are counted from the first that learns.
func (c centring) Fold(round int, state, sum []int64) ([]int64, error) {
	learning, measured, err := c.split(state)
	if err != nil || len(sum) != c.dim {
		return nil, fmt.Errorf("fold of round %d: %w", round, pvi.ErrShape)
	}
	if round > c.rounds {
		next, err := c.folder.Fold(round-c.rounds, learning, sum)
		return append(slices.Clip(next), measured...), err
	}
	next := slices.Clone(state)
	measured = next[len(learning):]
	measured[0]++
	for i := range measured[1:] {
		v := measured[1+i] + sum[i]
		if (sum[i] > 0) != (v > measured[1+i]) && sum[i] != 0 {
			return nil, fmt.Errorf("fold of round %d, coordinate %d: %w", round, i, pvi.ErrOverflow)
		}
		measured[1+i] = v
	}
	return next, nil
}

// columns are those that are centred.
func (c centring) columns() (centre.Columns, error) {
	schema, err := dataset.ParseSchema(c.schema)
	if err != nil {
		return centre.Columns{}, err
	}
	return centre.Of(schema), nil
}

// frame returns where a public state's columns lie within their ranges, for those that are
// encoded by their range; nil for a plan that measures none.
func (c centring) frame(p *protocol.Plan, state []int64) (*centre.Frame, error) {
	_, measured, err := c.split(state)
	if err != nil || measured == nil {
		return nil, err
	}
	columns, err := c.columns()
	if err != nil {
		return nil, err
	}
	f := columns.Frame(measured, SumVariance(first(p)))
	return &f, nil
}

// after returns the posterior of centred columns for records as they are encoded, with the
// frame of a public state.
func (c centring) after(p *protocol.Plan, state []int64, q *pvi.Posterior) (*pvi.Posterior, error) {
	frame, err := c.frame(p, state)
	if err != nil || frame == nil {
		return q, err
	}
	columns, err := c.columns()
	if err != nil {
		return nil, err
	}
	return q.After(func(x []float64) []float64 { return columns.Recode(x, *frame) }), nil
}

// check returns an error unless so many rounds that don't evaluate have room for those that measure, and
// a sum for what they measure.
func (c centring) check(all int) error {
	if c.rounds == 0 {
		return nil
	}
	n, err := c.measured()
	switch {
	case err != nil:
		return err
	case c.rounds < 0 || c.rounds >= all:
		return fmt.Errorf("centre_rounds is %d of %d rounds that don't evaluate, want 0 to %d: none is left to "+
			"learn", c.rounds, all, all-1)
	case c.dim < n-1:
		return fmt.Errorf("centre_rounds is %d, want 0: sums of %d numbers have no room for means and mean "+
			"squares of these columns", c.rounds, c.dim)
	}
	return nil
}

// centringOf returns how an application measures; one without rounds for applications that don't.
func centringOf(a Spec) centring {
	switch a := a.(type) {
	case *PVI:
		return a.centring()
	case *GlobalVI:
		return a.centring()
	case *MCMC:
		return a.centring(nil)
	}
	return centring{}
}

// Frame returns where the columns that are encoded by their range lie within it, by a public state; nil
// for a plan that measures none.
func Frame(p *protocol.Plan, a Spec, state []int64) (*centre.Frame, error) {
	return centringOf(a).frame(p, state)
}

// CentreRounds is how many of an application's rounds, the first ones, measure where columns lie.
func CentreRounds(a Spec) int { return centringOf(a).rounds }

// centredParty measures in the first rounds and learns from centred columns in the others.
type centredParty struct {
	model
	PartyConfig
	centring
	columns centre.Columns
	grid    fixedpoint.Grid
	bound   uint64
	make    func(PartyConfig) (Party, error) // the side that learns
	// learner of the data as encoded: it only has states, which don't depend on the encoding.
	learner Party
	// centred learns; it is made in the first round that learns, in this frame.
	centred Party
	at      centre.Frame
}

// join returns a party's side, of which make makes the part that learns.
func (c centring) join(of PartyConfig, make func(PartyConfig) (Party, error)) (Party, error) {
	learner, err := make(of)
	if c.rounds == 0 || err != nil {
		return learner, err
	}
	if of.Outside != nil {
		return nil, fmt.Errorf("a program can't compute the updates of a plan that centres columns: " +
			"its plan must have centre_rounds = 0")
	}
	columns, err := c.columns()
	if err != nil {
		return nil, err
	}
	grid := fixedpoint.Grid{FracBits: c.bits}
	bound, err := grid.IntBound(c.clip)
	return &centredParty{model: model{c}, PartyConfig: of, centring: c, columns: columns, grid: grid,
		bound: bound, make: make, learner: learner}, err
}

// Initial implements protocol.Model.
func (p *centredParty) Initial() []int64 { return p.model.Initial() }

// Fold implements protocol.Model.
func (p *centredParty) Fold(round uint32, state, sum []int64) ([]int64, error) {
	return p.model.Fold(round, state, sum)
}

// InitialState implements protocol.Application.
func (p *centredParty) InitialState() []byte { return p.learner.InitialState() }

// Settle implements protocol.Application.
func (p *centredParty) Settle(round uint32, state, memo []byte) ([]byte, error) {
	if int(round) <= p.rounds {
		return state, nil
	}
	return p.learner.Settle(round-uint32(p.rounds), state, memo)
}

// Propose implements protocol.Proposer.
func (p *centredParty) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	if int(w.Round) <= p.rounds {
		return p.measure(w.Round)
	}
	if err := p.centreAt(w.Model); err != nil {
		return nil, nil, err
	}
	var err error
	w.Round -= uint32(p.rounds)
	if w.Model, _, err = p.split(w.Model); err != nil {
		return nil, nil, err
	}
	return p.centred.Propose(ctx, w)
}

func (p *centredParty) measure(round uint32) ([]int64, []byte, error) {
	rows, err := centre.Sample(p.Data, p.rate, p.Rand)
	if err != nil {
		return nil, nil, fmt.Errorf("sample: %w", err)
	}
	groups := p.groups
	if groups == 0 {
		groups = rows.Rows()
	}
	sum := make([]int64, p.dim)
	clipped, err := p.columns.Sum(sum[:p.columns.Dim()], rows, groups, p.grid, p.clip, p.bound)
	if err != nil {
		return nil, nil, err
	}
	p.report(round, clipped)
	return sum, []byte{}, nil
}

// centreAt makes the side that learns, for the frame in a state.
func (p *centredParty) centreAt(state []int64) error {
	frame, err := p.frame(p.Plan, state)
	if err != nil || p.centred != nil && slices.Equal(frame.Centres, p.at.Centres) &&
		slices.Equal(frame.Units, p.at.Units) {
		return err
	}
	of := p.PartyConfig
	of.Data = pvi.Data{X: p.columns.Recode(p.Data.X, *frame), Y: p.Data.Y}
	of.Report = func(round uint32, clipped float64) { p.report(round+uint32(p.rounds), clipped) }
	if p.centred, err = p.make(of); err != nil {
		return err
	}
	p.at = *frame
	return nil
}
