package pvi

import (
	"context"
	"fmt"
)

// History is a run in memory.
type History struct {
	Raw    [][]int64 // the raw state before round 1, after round 1, and so on
	States [][]byte  // each learner's state after the last round
}

// Final is the last raw state.
func (h History) Final() []int64 { return h.Raw[len(h.Raw)-1] }

// NoiseFunc is the vector that a party (counted from 0) adds in a round (from 1),
// in units of 2^-FracBits, length Dim. nil adds nothing.
type NoiseFunc func(round, party int) []int64

// Run drives learners for a number of rounds with a plain sum in place of a secret
// one: the reference of a trusted aggregator. It takes the very steps of a session,
// on the same integers, so a session with the same noise ends in the same state.
//
// A nil noise adds nothing. All parties are in every round.
func Run(ctx context.Context, cfg Config, learners []*Learner, noise NoiseFunc, rounds int) (History, error) {
	if err := checkRun(cfg, learners); err != nil {
		return History{}, err
	}
	h := History{Raw: [][]int64{cfg.Initial()}, States: make([][]byte, len(learners))}
	for i, l := range learners {
		h.States[i] = l.InitialState()
	}
	for round := 1; round <= rounds; round++ {
		if err := h.step(ctx, cfg, learners, noise, round); err != nil {
			return History{}, fmt.Errorf("round %d: %w", round, err)
		}
	}
	return h, nil
}

func (h *History) step(ctx context.Context, cfg Config, learners []*Learner, noise NoiseFunc, round int) error {
	sum := make([]int64, cfg.Dim())
	memos := make([][]byte, len(learners))
	for i, l := range learners {
		p, err := l.Propose(ctx, round, h.Final(), h.States[i])
		if err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
		memos[i] = p.Memo
		if err := addInto(sum, p.Update); err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
		if noise == nil {
			continue
		}
		if err := addInto(sum, noise(round, i)); err != nil {
			return fmt.Errorf("noise of party %d: %w", i, err)
		}
	}
	next, err := cfg.Fold(round, h.Final(), sum)
	if err != nil {
		return err
	}
	for i, l := range learners {
		if h.States[i], err = l.Settle(round, h.States[i], memos[i]); err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
	}
	h.Raw = append(h.Raw, next)
	return nil
}

// addInto adds v, or nothing when v is nil.
func addInto(sum, v []int64) error {
	if v != nil && len(v) != len(sum) {
		return fmt.Errorf("length %d, want %d: %w", len(v), len(sum), ErrShape)
	}
	if i := addScaled(sum, sum, 1, v); i >= 0 {
		return fmt.Errorf("coordinate %d: %w", i, ErrOverflow)
	}
	return nil
}

func checkRun(cfg Config, learners []*Learner) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if len(learners) == 0 {
		return fmt.Errorf("%w: no learners", ErrConfig)
	}
	if cfg.Parties > 0 && len(learners) != cfg.Parties {
		return fmt.Errorf("%w: %d learners, parties is %d", ErrConfig, len(learners), cfg.Parties)
	}
	for i, l := range learners {
		if l.cfg != cfg {
			return fmt.Errorf("%w: learner %d was made with another one", ErrConfig, i)
		}
	}
	return nil
}
