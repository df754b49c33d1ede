package pvi

import (
	"context"
	"fmt"

	"choir/learn/bayes"
)

// History is a run in memory.
type History struct {
	Raw    [][]int64 // the raw state before the first round, after it, and so on
	States [][]byte  // each learner's state after the last round
}

// Final returns the last raw state.
func (h History) Final() []int64 { return h.Raw[len(h.Raw)-1] }

// NoiseFunc returns the vector that a party (counted from 0) adds in a round (from 1), in
// units of 2^-FracBits, length Dim. nil adds nothing.
type NoiseFunc func(round, party int) []int64

// Run drives learners for a number of rounds with a plain sum in place of a secret one: the
// reference of a trusted aggregator. It does the same arithmetic on the same integers as a
// session, so that a session with the same noise ends in the same state.
//
// A nil noise adds nothing. All parties are in every round. Errors: ErrConfig, ErrOverflow, those of
// the learners, and the context's.
func Run(ctx context.Context, cfg Config, learners []*Learner, noise NoiseFunc, rounds int) (History, error) {
	h, err := begin(cfg, learners)
	if err != nil {
		return History{}, err
	}
	all := make([]int, len(learners))
	for i := range all {
		all[i] = i
	}
	for round := 1; round <= rounds; round++ {
		if err := h.step(ctx, cfg, learners, all, noise, round); err != nil {
			return History{}, fmt.Errorf("round %d: %w", round, err)
		}
	}
	return h, nil
}

// begin is the history of no round.
func begin(cfg Config, learners []*Learner) (History, error) {
	if err := checkRun(cfg, learners); err != nil {
		return History{}, err
	}
	h := History{Raw: [][]int64{cfg.Initial()}, States: make([][]byte, len(learners))}
	for i, l := range learners {
		h.States[i] = l.InitialState()
	}
	return h, nil
}

// step adds the round of the parties in set, increasing.
func (h *History) step(ctx context.Context, cfg Config, learners []*Learner, set []int, noise NoiseFunc,
	round int) error {
	sum := make([]int64, cfg.Dim())
	memos := make([][]byte, len(learners))
	for _, i := range set {
		p, err := learners[i].Propose(ctx, round, h.Final(), h.States[i])
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
		z := noise(round, i)
		if err := addInto(sum, z); err != nil {
			return fmt.Errorf("noise of party %d: %w", i, err)
		}
		if cfg.Factors == FactorsNoisy && !cfg.params().Local {
			if memos[i], err = learners[i].addNoise(p.Memo, z); err != nil {
				return fmt.Errorf("party %d: %w", i, err)
			}
		}
	}
	next, err := cfg.Fold(round, h.Final(), sum)
	if err != nil {
		return err
	}
	for _, i := range set {
		if h.States[i], err = learners[i].Settle(round, h.States[i], memos[i]); err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
	}
	h.Raw = append(h.Raw, next)
	return nil
}

// addInto adds v, or nothing when v is nil.
func addInto(sum, v []int64) error {
	if v != nil && len(v) != len(sum) {
		return fmt.Errorf("length %d, want %d: %w", len(v), len(sum), bayes.ErrShape)
	}
	for i, x := range v {
		next := sum[i] + x
		if (x > 0) != (next > sum[i]) && x != 0 {
			return fmt.Errorf("coordinate %d: %w", i, ErrOverflow)
		}
		sum[i] = next
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
	if b, ok := cfg.Strategy.(BCMSplit); ok && len(learners) != b.Parties {
		return fmt.Errorf("%w: %d learners, parties is %d", ErrConfig, len(learners), b.Parties)
	}
	for i, l := range learners {
		if l.shared != cfg {
			return fmt.Errorf("%w: learner %d was made with another one", ErrConfig, i)
		}
	}
	return nil
}
