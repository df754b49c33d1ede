package bed

import (
	"context"
	"fmt"

	"choir/crypto/noise"
	"choir/protocol"
	"choir/session/app"
)

// side is a party of a run in the clear.
type side struct {
	learner app.Party
	state   []byte
	noise   func(sum []int64) error
}

// clear takes the rounds of a session with a plain sum in place of the secret one.
func (s *signed) clear(ctx context.Context) ([]int64, error) {
	sides := make([]side, len(s.Parts))
	for i := range sides {
		var err error
		if sides[i].learner, err = s.seat(i); err != nil {
			return nil, err
		}
		sides[i].state = sides[i].learner.InitialState()
		if sides[i].noise, err = s.noise(i); err != nil {
			return nil, err
		}
	}
	state := s.model.Initial()
	for round := uint32(1); round <= s.plan.Rounds; round++ {
		next, err := s.round(ctx, round, state, sides)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		state = next
	}
	return state, nil
}

func (s *signed) round(ctx context.Context, round uint32, state []int64, sides []side) ([]int64, error) {
	sum, memos := make([]int64, s.plan.Dim), make([][]byte, len(sides))
	for i, p := range sides {
		update, memo, err := p.learner.Propose(ctx,
			protocol.Work{Round: round, Attempt: 1, Model: state, State: p.state, Opened: s.opened})
		if err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
		memos[i] = memo
		for j, v := range update {
			sum[j] += v // the plan leaves room for everything: CheckGrid
		}
		if err := p.noise(sum); err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
	}
	s.reveal(round, state, sum)
	next, err := s.model.Fold(round, state, sum)
	if err != nil {
		return nil, err
	}
	for i := range sides {
		if sides[i].state, err = sides[i].learner.Settle(round, sides[i].state, memos[i]); err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
	}
	return next, s.see(int(round), next)
}

// noise adds a party's part of the joint noise; with local noise, or none, nothing.
func (s *signed) noise(party int) (func(sum []int64) error, error) {
	if s.plan.Noise != protocol.NoiseParty || s.Trusted && int64(party) >= int64(s.plan.HiddenParts()) {
		return func([]int64) error { return nil }, nil
	}
	g, err := noise.NewGaussian(s.plan.Variance)
	if err != nil {
		return nil, err
	}
	from, x := s.stream(fmt.Sprintf("noise of party %d", party)), make([]int64, s.plan.Dim)
	return func(sum []int64) error {
		if err := g.Fill(x, from); err != nil {
			return err
		}
		for i, v := range x {
			sum[i] += v
		}
		return nil
	}, nil
}
