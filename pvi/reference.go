package pvi

import (
	"context"
	"fmt"
)

// RunReal is non-private PVI in floating point: no grid, no clipping, no noise, the
// damping as real numbers, and no server's factor. It is what the integer path
// approximates, for tests and as a reference in reports. It returns the posterior
// after the given number of rounds; an improper one on the way is an error.
func RunReal(ctx context.Context, cfg Config, learners []*Learner, rounds int) (*Posterior, error) {
	if err := checkRun(cfg, learners); err != nil {
		return nil, err
	}
	r := newRealRun(cfg, learners)
	for round := 1; round <= rounds; round++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		r.step(round)
		if _, err := cfg.space().Moments(r.q); err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
	}
	return cfg.posterior(r.q, 0)
}

type realRun struct {
	cfg      Config
	learners []*Learner
	q        []float64
	factors  [][][]float64 // party, shard, coordinate
}

func newRealRun(cfg Config, learners []*Learner) *realRun {
	r := &realRun{cfg: cfg, learners: learners, q: make([]float64, cfg.Dim())}
	cfg.space().Prior(r.q, cfg.PriorPrecision)
	copy(r.q, cfg.floats(cfg.Initial())[:cfg.Weights()])
	r.factors = make([][][]float64, len(learners))
	for i := range r.factors {
		r.factors[i] = make([][]float64, cfg.Shards)
		for k := range r.factors[i] {
			r.factors[i][k] = make([]float64, cfg.Dim())
		}
	}
	return r
}

func (r *realRun) step(round int) {
	a := r.cfg.Damping / (1 + r.cfg.DampingDecay*float64(round-1))
	next := append([]float64(nil), r.q...)
	for i, l := range r.learners {
		w := l.newRealWork(r.q)
		for k, t := range r.factors[i] {
			copy(w.factor, t)
			w.optimise(k)
			for j, u := range w.update {
				t[j] += a * u
				next[j] += a * u
			}
		}
	}
	r.q = next
}
