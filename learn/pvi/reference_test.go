package pvi

import (
	"context"
	"fmt"
	"math"

	"choir/learn/bayes"
)

// runReal is non-private PVI in floating point: no grid, no clipping, no noise, the
// damping as real numbers, and no server's factor. It is what the integer path
// approximates, for tests and as a reference in reports. It returns the posterior
// after the given number of rounds; an improper one on the way is an error.
func runReal(ctx context.Context, cfg Config, learners []*Learner, rounds int) (*bayes.Posterior, error) {
	p, _, err := runRealCourse(ctx, cfg, learners, course{Rounds: rounds})
	return p, err
}

// runRealCourse is runReal with a schedule and a condition to stop, and also returns the
// number of rounds. It rejects a course with noise, and strategies whose factors are
// released updates.
func runRealCourse(ctx context.Context, cfg Config, learners []*Learner,
	course course) (*bayes.Posterior, int, error) {
	if err := checkRun(cfg, learners); err != nil {
		return nil, 0, err
	}
	if cfg.Released() || course.Noise != nil {
		return nil, 0, fmt.Errorf("%w: the run without a grid has no noise", ErrConfig)
	}
	r := newRealRun(cfg, learners)
	for round := 1; round <= course.Rounds; round++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, fmt.Errorf("round %d: %w", round, err)
		}
		set, err := course.Schedule.of(round, len(learners))
		if err != nil {
			return nil, 0, err
		}
		r.step(round, set)
		if _, err := cfg.space().Moments(r.q); err != nil {
			return nil, 0, fmt.Errorf("round %d: %w", round, err)
		}
		if course.converged(round, len(learners), r.change) {
			break
		}
	}
	p, err := cfg.posterior(r.q)
	return p, len(r.changes), err
}

type realRun struct {
	cfg      Config
	learners []*Learner
	q        []float64
	factors  [][][]float64 // party, shard, coordinate
	changes  []float64     // the largest change of a coordinate in each round
}

func newRealRun(cfg Config, learners []*Learner) *realRun {
	r := &realRun{cfg: cfg, learners: learners, q: make([]float64, cfg.Dim())}
	s := cfg.space()
	s.Prior(r.q, cfg.PriorPrecision+cfg.StartPrecision)
	copy(r.q, cfg.Reals(cfg.Initial())[:s.Features])
	r.factors = make([][][]float64, len(learners))
	for i := range r.factors {
		r.factors[i] = make([][]float64, len(learners[i].sites))
		for k := range r.factors[i] {
			r.factors[i][k] = make([]float64, cfg.Dim())
		}
	}
	return r
}

func (r *realRun) step(round int, set []int) {
	a := r.cfg.Damping / (1 + r.cfg.DampingDecay*float64(round-1))
	next := append([]float64(nil), r.q...)
	for _, i := range set {
		w := r.learners[i].newRealWork(r.q)
		for k, t := range r.factors[i] {
			copy(w.factor, t)
			w.optimise(k)
			for j, u := range w.update {
				t[j] += a * u
				next[j] += a * u
			}
		}
	}
	var most float64
	for j, x := range next {
		most = max(most, math.Abs(x-r.q[j]))
	}
	r.q, r.changes = next, append(r.changes, most)
}

// change bounds the difference over the last rounds, by what each of them changed.
func (r *realRun) change(back int) (sum float64) {
	for _, c := range r.changes[len(r.changes)-back:] {
		sum += c
	}
	return sum
}
