package pvi

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Outside computes shards' updates in place of the model's own optimiser, for instance by a
// program of the party. Clipping, rounding, noise and the factors remain in this package,
// so the bound on what one clipped update can change holds for every answer.
//
// With one shard (strategy dataset or perturbation) the privacy claim needs nothing else:
// the update may be any function of the party's data, of the past and of chance. With
// several, an Outside must compute a shard's update from that shard's records alone,
// without a memory of the others': one record then moves one clipped update. Only the party
// can make sure of that. In a session a program therefore runs once for each shard, and gets
// one cavity.
type Outside interface {
	// Updates returns, for every shard, the natural parameters of the posterior that it
	// would choose, minus global: vectors of Dim finite numbers. A failed call changes
	// nothing.
	Updates(ctx context.Context, w OutsideWork) ([][]float64, error)
}

// OutsideWork is the input of an Outside in a round. Its fields must not be
// modified.
type OutsideWork struct {
	Round  int
	Global []float64   // natural parameters of the public posterior q
	Cavity [][]float64 // q without the shard's factor, for every shard; maybe improper
}

// ErrOutside is in the chain of every error about updates from outside: missing where the
// model needs them, or unusable.
var ErrOutside = errors.New("update from outside")

// WithOutside returns the learner with its updates computed by o. A model "external" needs
// it before Propose; other models then do not use their own optimiser. Errors: ErrOutside
// for a strategy that clips single records.
func (l *Learner) WithOutside(o Outside) (*Learner, error) {
	if err := l.cfg.TakesOutside(); err != nil {
		return nil, err
	}
	with := *l
	with.outside = o
	return &with, nil
}

// TakesOutside returns ErrOutside for a configuration under which no one else can compute the updates.
func (c Config) TakesOutside() error {
	if c.newton() {
		return fmt.Errorf("%w: optimiser %q computes the steps itself: leave exec out", ErrOutside, Newton)
	}
	if c.stepped() {
		return fmt.Errorf("%w: strategy %q clips single records, so that no program can compute its updates: "+
			"leave exec out", ErrOutside, c.name())
	}
	return nil
}

// elsewhere returns the updates of all shards from outside, or nil if there is no outside.
func (l *Learner) elsewhere(ctx context.Context, round int, w *work, factors [][]int64) ([][]float64, error) {
	if l.outside == nil {
		if l.cfg.kind().External {
			return nil, fmt.Errorf("%w: model %q is computed by a program, and there is none", ErrOutside,
				l.cfg.Model)
		}
		return nil, nil
	}
	ask := OutsideWork{Round: round, Global: append([]float64(nil), w.q...),
		Cavity: make([][]float64, l.Shards())}
	for k := range ask.Cavity {
		l.cfg.toFloat(w.factor, factors[min(k, len(factors)-1)])
		w.divide()
		ask.Cavity[k] = append([]float64(nil), w.cavity...)
	}
	updates, err := l.outside.Updates(ctx, ask)
	if err != nil {
		return nil, err
	}
	return updates, l.checkOutside(updates)
}

// checkOutside returns an error that names the first unusable update, or nil. Under a clip one that
// is not finite counts as zero later: an error would keep the party out of the round.
func (l *Learner) checkOutside(updates [][]float64) error {
	if len(updates) != l.Shards() {
		return fmt.Errorf("%w: %d shards' updates, want %d", ErrOutside, len(updates), l.Shards())
	}
	for k, u := range updates {
		if len(u) != l.cfg.Dim() {
			return fmt.Errorf("%w: shard %d has %d numbers, want %d", ErrOutside, k, len(u), l.cfg.Dim())
		}
		for i, v := range u {
			if l.cfg.Clip == 0 && (math.IsNaN(v) || math.IsInf(v, 0)) {
				return fmt.Errorf("%w: shard %d, coordinate %d is %v", ErrOutside, k, i, v)
			}
		}
	}
	return nil
}

// take copies an update from outside to w.update.
func (w *work) take(update []float64) {
	copy(w.update, update)
	w.average()
}
