package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/protocol"
)

// centring is the public side of a method whose first rounds measure the columns' frame. Its state
// is the method's, followed by that of package centre. Without such rounds it is the method's.
type centring struct {
	folder                                 // the method that learns
	rounds int                             // that measure
	dim    int                             // of a sum
	schema func() (*dataset.Schema, error) // how columns are encoded
	// Measuring rounds have the terms of those that learn: each vector, the mean of a group of records, is
	// at most clip long, on the grid of frac bits.
	groups int // vectors of a party; 0: one for each record
	clip   float64
	bits   uint8
	rate   float64 // of a round's Poisson sample of the records
	// releases of a round that each have the plan's noise and a sample of their own; 1 unless noise is at
	// every party.
	releases int
}

// once returns what parses a schema when it is first asked: every round asks for it.
func once(schema json.RawMessage) func() (*dataset.Schema, error) {
	return sync.OnceValues(func() (*dataset.Schema, error) { return dataset.ParseSchema(schema) })
}

// measured is the length of the state of package centre.
func (c centring) measured() (int, error) {
	schema, err := c.schema()
	if err != nil {
		return 0, err
	}
	return centre.StateLen(schema), nil
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
	return nil, nil, fmt.Errorf("state: %w", bayes.ErrShape)
}

// Fold adds a measuring round's sum to the measured part, and any other to the method's, whose
// rounds are counted from the first that learns.
func (c centring) Fold(round int, state, sum []int64) ([]int64, error) {
	learning, measured, err := c.split(state)
	if err != nil || len(sum) != c.dim {
		return nil, fmt.Errorf("fold of round %d: %w", round, bayes.ErrShape)
	}
	if round > c.rounds {
		next, err := c.folder.Fold(round-c.rounds, learning, sum)
		return append(slices.Clip(next), measured...), err
	}
	if measured, err = centre.Fold(measured, round, c.rounds, sum); err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	return append(slices.Clip(learning), measured...), nil
}

// check returns an error unless so many rounds that don't evaluate have room for those that measure, and
// a sum for what they measure.
func (c centring) check(all int) error {
	if c.rounds == 0 {
		return nil
	}
	schema, err := c.schema()
	switch {
	case err != nil:
		return err
	case c.rounds < 0 || c.rounds >= all:
		return fmt.Errorf("centre_rounds is %d of %d rounds that don't evaluate, want 0 to %d: none is left to "+
			"learn", c.rounds, all, all-1)
	case c.dim < centre.Dim(schema):
		return fmt.Errorf("centre_rounds is %d, want 0: sums of %d numbers have no room for means and mean "+
			"squares of these columns", c.rounds, c.dim)
	}
	return nil
}

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
		return p.measure(w)
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

func (p *centredParty) measure(w protocol.Work) ([]int64, []byte, error) {
	_, measured, err := p.split(w.Model)
	if err != nil {
		return nil, nil, err
	}
	view := p.columns.View(measured, p.variance(p.Plan), int(w.Round), p.rounds)
	share, calls := 0.0, 0.0
	add := func(d bayes.Data, sum []int64) error {
		groups := p.groups
		if groups == 0 {
			groups = d.Rows()
		}
		clipped, err := view.Sum(sum[:p.columns.Dim()], d, groups, p.grid, p.clip, p.bound)
		share, calls = share+clipped, calls+1
		return err
	}
	sum, err := p.sum(add)
	if err != nil {
		return nil, nil, err
	}
	p.report(w.Round, share/calls)
	return sum, []byte{}, nil
}

// sum is what add adds up, of a sample of the records, or of one for each release.
func (p *centredParty) sum(add func(d bayes.Data, sum []int64) error) ([]int64, error) {
	if l, ok := p.learner.(*pviParty); ok && l.learner.Config().Strategy.Params().Local {
		return l.learner.NoisySums(func(rows []int, sum []int64) error { return add(p.Data.Pick(rows), sum) })
	}
	rows, err := centre.Sample(p.Data, p.rate, p.Rand)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	sum := make([]int64, p.dim)
	return sum, add(rows, sum)
}

// centreAt makes the side that learns, for the frame in a state.
func (p *centredParty) centreAt(state []int64) error {
	frame, err := p.frame(p.Plan, state)
	if err != nil || p.centred != nil && slices.Equal(frame.Centres, p.at.Centres) &&
		slices.Equal(frame.Units, p.at.Units) {
		return err
	}
	of := p.PartyConfig
	of.Data = bayes.Data{X: p.columns.Recode(p.Data.X, *frame), Y: p.Data.Y}
	of.Report = func(round uint32, clipped float64) { p.report(round+uint32(p.rounds), clipped) }
	if p.centred, err = p.make(of); err != nil {
		return err
	}
	p.at = *frame
	return nil
}
