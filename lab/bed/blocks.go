package bed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// Blocks are several learning problems of one method in one session: their sums are one
// vector, so that many small problems cost the messages of one. The problems' records are
// disjoint. Replacing a record changes one problem's block only, so that a release has the
// sensitivity of one problem, and its records are as private as in a session of one problem.
//
// The plan has the first problem's parameters; the others may differ in what does not change
// the mechanism.
type Blocks struct {
	Apps  []app.Spec
	Parts [][]bayes.Data // by problem and party
}

var errBlocks = errors.New("problems that do not fit into one session")

// Name implements app.Spec.
func (b Blocks) Name() string { return b.Apps[0].Name() }

// Marshal implements app.Spec: the first problem's.
func (b Blocks) Marshal() ([]byte, error) { return b.Apps[0].Marshal() }

// Encoding implements app.Spec.
func (b Blocks) Encoding() (*dataset.Schema, error) { return b.Apps[0].Encoding() }

// Size implements app.Spec.
func (b Blocks) Size() (dim int, fracBits uint8) {
	for _, a := range b.Apps {
		n, bits := a.Size()
		dim, fracBits = dim+n, max(fracBits, bits)
	}
	return dim, fracBits
}

// Mechanism implements app.Spec: the problems' own, which must be the same, on vectors
// as long as all of theirs. A party's sum is at most as long as its parts together.
func (b Blocks) Mechanism() (pvi.Mechanism, error) {
	var all pvi.Mechanism
	for i, a := range b.Apps {
		m, err := a.Mechanism()
		if err != nil {
			return m, fmt.Errorf("problem %d: %w", i, err)
		}
		one := m
		one.Dim, one.PerParty = all.Dim, all.PerParty
		if i > 0 && one != all {
			return m, fmt.Errorf("%w: problem %d has another mechanism than the first", errBlocks, i)
		}
		dim, perParty := all.Dim+m.Dim, all.PerParty+m.PerParty
		if perParty < m.PerParty {
			return m, fmt.Errorf("%w: a party's sum overflows", errBlocks)
		}
		all = m
		all.Dim, all.PerParty = dim, perParty
	}
	return all, nil
}

// Check implements app.Spec.
func (b Blocks) Check(p *protocol.Plan) error {
	if len(b.Parts) != len(b.Apps) {
		return fmt.Errorf("%w: data for %d, %d in all", errBlocks, len(b.Parts), len(b.Apps))
	}
	for i, a := range b.Apps {
		if _, bits := a.Size(); bits != p.FracBits || len(b.Parts[i]) != p.Parties() {
			return fmt.Errorf("%w: problem %d is on the grid of %d bits at %d parties", errBlocks, i, bits,
				len(b.Parts[i]))
		}
		if err := a.Check(p); err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

// Posterior implements app.Spec: the first problem's. Each has the others.
func (b Blocks) Posterior(p *protocol.Plan, state []int64) (*bayes.Posterior, error) {
	var first *bayes.Posterior
	err := b.Each(p, state, func(i int, q *bayes.Posterior) error {
		if i == 0 {
			first = q
		}
		return nil
	})
	return first, err
}

// NoiseAware implements app.Spec: no problem's posterior counts the noise.
func (b Blocks) NoiseAware(*protocol.Plan, []app.Revealed) (*bayes.Posterior, error) {
	return nil, fmt.Errorf("%w: several problems in one session", pvi.ErrUncorrected)
}

// Each shows every problem's posterior.
func (b Blocks) Each(p *protocol.Plan, state []int64, see func(problem int, q *bayes.Posterior) error) error {
	all := b.models(p)
	parts, err := all.split(state, all.states())
	if err != nil {
		return err
	}
	for i, a := range b.Apps {
		q, err := a.Posterior(p, parts[i])
		if err == nil {
			err = see(i, q)
		}
		if err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

func (b Blocks) models(p *protocol.Plan) models {
	var all models
	for _, a := range b.Apps {
		dim, _ := a.Size()
		all.of, all.sums = append(all.of, a.Model(p)), append(all.sums, dim)
	}
	return all
}

// Model implements app.Spec.
func (b Blocks) Model(p *protocol.Plan) protocol.Model { return b.models(p) }

// Join implements app.Spec. The problems' local noise and samples come from the seat's
// randomness, one problem after the other.
func (b Blocks) Join(s app.PartyConfig) (app.Party, error) {
	all := sides{models: b.models(s.Plan)}
	for i, a := range b.Apps {
		seat := s
		seat.Data = b.Parts[i][s.Party]
		l, err := a.Join(seat)
		if err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
		all.learners = append(all.learners, l)
	}
	return all, nil
}

// models fold every problem's part of a sum into its part of the state.
type models struct {
	of   []protocol.Model
	sums []int // lengths of the parts of a sum
}

// states are the lengths of the parts of a state.
func (m models) states() (all []int) {
	for _, one := range m.of {
		all = append(all, len(one.Initial()))
	}
	return all
}

func (m models) split(v []int64, lengths []int) (parts [][]int64, err error) {
	for _, n := range lengths {
		if n > len(v) {
			return nil, fmt.Errorf("%w: a vector that is too short", errBlocks)
		}
		parts, v = append(parts, v[:n:n]), v[n:]
	}
	if len(v) > 0 {
		return nil, fmt.Errorf("%w: a vector with %d numbers too many", errBlocks, len(v))
	}
	return parts, nil
}

// Initial implements protocol.Model.
func (m models) Initial() (state []int64) {
	for _, one := range m.of {
		state = append(state, one.Initial()...)
	}
	return state
}

// Fold implements protocol.Model.
func (m models) Fold(round uint32, state, sum []int64) ([]int64, error) {
	states, err := m.split(state, m.states())
	if err != nil {
		return nil, err
	}
	sums, err := m.split(sum, m.sums)
	if err != nil {
		return nil, err
	}
	var next []int64
	for i, one := range m.of {
		part, err := one.Fold(round, states[i], sums[i])
		if err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
		next = append(next, part...)
	}
	return next, nil
}

// sides are a party's sides of all problems.
type sides struct {
	models
	learners []app.Party
}

// InitialState implements protocol.Application.
func (s sides) InitialState() []byte {
	var all [][]byte
	for _, l := range s.learners {
		all = append(all, l.InitialState())
	}
	return join(all)
}

// Propose implements protocol.Proposer.
func (s sides) Propose(ctx context.Context, w protocol.Work) (update []int64, memo []byte, err error) {
	public, err := s.split(w.Model, s.states())
	if err != nil {
		return nil, nil, err
	}
	private, err := s.unjoin(w.State)
	if err != nil {
		return nil, nil, err
	}
	var memos [][]byte
	for i, l := range s.learners {
		one := w
		one.Model, one.State = public[i], private[i]
		u, m, err := l.Propose(ctx, one)
		if err != nil {
			return nil, nil, fmt.Errorf("problem %d: %w", i, err)
		}
		update, memos = append(update, u...), append(memos, m)
	}
	return update, join(memos), nil
}

// Settle implements protocol.Application.
func (s sides) Settle(round uint32, state, memo []byte) ([]byte, error) {
	states, err := s.unjoin(state)
	if err != nil {
		return nil, err
	}
	memos, err := s.unjoin(memo)
	if err != nil {
		return nil, err
	}
	for i, l := range s.learners {
		if states[i], err = l.Settle(round, states[i], memos[i]); err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return join(states), nil
}

// join concatenates texts, each after its length.
func join(all [][]byte) (b []byte) {
	for _, one := range all {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(one))), one...)
	}
	return b
}

func (s sides) unjoin(b []byte) (all [][]byte, err error) {
	for range s.learners {
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, fmt.Errorf("%w: a private state that was cut off", errBlocks)
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		all, b = append(all, slices.Clone(b[4:n])), b[n:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: a private state with %d bytes too many", errBlocks, len(b))
	}
	return all, nil
}
