package pvi

import (
	"context"
	"fmt"
	"math"
)

// course describes a run with a schedule and a condition to stop.
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

// runCourse is Run by a course. It also returns the number of the last round.
func runCourse(ctx context.Context, cfg Config, learners []*Learner, course course) (History, int, error) {
	h, err := begin(cfg, learners)
	if err != nil {
		return History{}, 0, err
	}
	return resume(ctx, cfg, learners, h, 0, course)
}

// resume continues a history that begins after a round.
func resume(ctx context.Context, cfg Config, learners []*Learner, h History, round int,
	course course) (History, int, error) {
	h.States = append([][]byte(nil), h.States...)
	for round < course.Rounds {
		round++
		set, err := course.Schedule.of(round, len(learners))
		if err == nil {
			err = h.step(ctx, cfg, learners, set, course.Noise, round)
		}
		if err != nil {
			return History{}, 0, err
		}
		if course.converged(len(h.Raw)-1, len(learners),
			func(back int) float64 { return cfg.change(h.Raw, back) }) {
			break
		}
	}
	return h, round, nil
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

// of returns the round's parties, checked.
func (s Schedule) of(round, parties int) ([]int, error) {
	if s == nil {
		all := make([]int, parties)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	set := s(round)
	last := -1
	for _, i := range set {
		if i <= last || i >= parties {
			return nil, fmt.Errorf("%w: the schedule's round %d is %v, with %d parties", ErrConfig, round,
				set, parties)
		}
		last = i
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%w: the schedule's round %d is empty", ErrConfig, round)
	}
	return set, nil
}
