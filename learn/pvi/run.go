package pvi

import (
	"context"
	"fmt"
	"math"

	"choir/learn/bayes"
)

// History is a run in memory.
type History struct {
	First  int       // the round that Raw starts after: 0, or that of the history that was resumed
	Raw    [][]int64 // the raw state after round First, after round First+1, and so on
	States [][]byte  // each learner's state after the last round
}

// Final returns the last raw state.
func (h History) Final() []int64 { return h.Raw[len(h.Raw)-1] }

// rounds returns the number of the last round.
func (h History) rounds() int { return h.First + len(h.Raw) - 1 }

// NoiseFunc returns the vector that a party (counted from 0) adds in a round (from 1), in
// units of 2^-FracBits, length Dim. nil adds nothing.
type NoiseFunc func(round, party int) []int64

// course describes a run.
type course struct {
	Rounds   int       // the number of the last round
	Schedule Schedule  // nil: all parties in every round
	Noise    NoiseFunc // joint noise; nil: none
	// Tolerance, if above 0, ends the run before Rounds: when over Window rounds no natural
	// parameter has changed by more. Window 0 is the number of parties, so that in a
	// sequential run each has had one round.
	Tolerance float64
	Window    int
}

// converged reports whether the states of the last rounds are all within the tolerance of
// the last.
func (c course) converged(rounds, parties int, change func(back int) float64) bool {
	window := c.Window
	if window == 0 {
		window = parties
	}
	if c.Tolerance <= 0 || rounds < window {
		return false
	}
	for back := 1; back <= window; back++ {
		if change(back) > c.Tolerance {
			return false
		}
	}
	return true
}

// Run drives learners for a number of rounds with a plain sum in place of a secret one: the
// reference of a trusted aggregator. It does the same arithmetic on the same integers as a
// session, so that a session with the same noise ends in the same state.
//
// A nil noise adds nothing. All parties are in every round.
func Run(ctx context.Context, cfg Config, learners []*Learner, noise NoiseFunc, rounds int) (History, error) {
	return runCourse(ctx, cfg, learners, course{Rounds: rounds, Noise: noise})
}

// runCourse is Run with a schedule and a condition to stop.
func runCourse(ctx context.Context, cfg Config, learners []*Learner, course course) (History, error) {
	if err := checkRun(cfg, learners); err != nil {
		return History{}, err
	}
	h := History{Raw: [][]int64{cfg.Initial()}, States: make([][]byte, len(learners))}
	for i, l := range learners {
		h.States[i] = l.InitialState()
	}
	return resume(ctx, cfg, learners, h, course)
}

// resume continues after the last round of a run, of which only the last raw state and the
// learners' states matter, and returns the longer history. It leaves h unchanged.
func resume(ctx context.Context, cfg Config, learners []*Learner, h History, course course) (History, error) {
	if err := checkRun(cfg, learners); err != nil {
		return History{}, err
	}
	if len(h.Raw) == 0 || len(h.States) != len(learners) {
		return History{}, fmt.Errorf(
			"%w: a history of %d raw states and %d learners' states, for %d learners",
			ErrConfig, len(h.Raw), len(h.States), len(learners))
	}
	h.Raw, h.States = append([][]int64(nil), h.Raw...), append([][]byte(nil), h.States...)
	for round := h.rounds() + 1; round <= course.Rounds; round++ {
		if err := h.step(ctx, cfg, learners, course, round); err != nil {
			return History{}, fmt.Errorf("round %d: %w", round, err)
		}
		if course.converged(len(h.Raw)-1, len(learners),
			func(back int) float64 { return cfg.change(h.Raw, back) }) {
			break
		}
	}
	return h, nil
}

// change returns the largest difference of a natural parameter between the last raw state
// and the one that many rounds before.
func (c Config) change(raw [][]int64, back int) float64 {
	a, b := raw[len(raw)-1], raw[len(raw)-1-back]
	var most float64
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return math.Ldexp(most, -c.rawBits())
}

func (h *History) step(ctx context.Context, cfg Config, learners []*Learner, course course, round int) error {
	set, err := course.Schedule.of(round, len(learners))
	if err != nil {
		return err
	}
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
		if course.Noise == nil {
			continue
		}
		z := course.Noise(round, i)
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
