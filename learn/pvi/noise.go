package pvi

import (
	"errors"
	"fmt"
	"io"

	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
)

// ErrNoise: a party must add noise to its own updates, but WithNoise was not called with
// what the configuration needs.
var ErrNoise = errors.New("local noise is not set")

// localNoise is the noise that a party adds itself.
type localNoise struct {
	gaussian *noise.Gaussian // nil: none
	rand     io.Reader
}

// WithNoise returns the learner with its local noise: the variance parameter of the
// discrete Gaussian in every coordinate of every release, in units of 2^-2FracBits (the
// plan's), and the source of it and of the secret samples, crypto/rand.Reader outside of
// tests. A learner with local noise needs it before Propose. A variance of 0 is no noise
// and no privacy, for references; rand may be nil if nothing is drawn.
//
// The reader is shared: if several goroutines call Propose it must be safe for concurrent
// use. Errors: ErrNoise for a configuration without local noise or a missing reader,
// noise.ErrVariance.
func (l *Learner) WithNoise(variance uint64, rand io.Reader) (*Learner, error) {
	if !l.cfg.params().Local {
		return nil, fmt.Errorf("%w: the configuration's noise is joint", ErrNoise)
	}
	if rand == nil && (variance > 0 || l.cfg.params().Sampling != SamplingNone) {
		return nil, fmt.Errorf("%w: no source of randomness", ErrNoise)
	}
	n := &localNoise{rand: rand}
	if variance > 0 {
		g, err := noise.NewGaussian(variance)
		if err != nil {
			return nil, fmt.Errorf("local noise: %w", err)
		}
		n.gaussian = g
	}
	with := *l
	with.noise = n
	return &with, nil
}

// add noises v in place. scratch has its length.
func (n *localNoise) add(v, scratch []int64) error {
	if n.gaussian == nil {
		return nil
	}
	if err := n.gaussian.Fill(scratch, n.rand); err != nil {
		return fmt.Errorf("local noise: %w", err)
	}
	return addInto(v, scratch)
}

// NoisySums is what a round of noisy steps releases, of other vectors than gradients: for each step a new
// sample's, to which add adds the records' vectors, and the noise. It returns the releases' sum, cut to
// UpdateClip. Each vector must be within the clip, in units of the grid; then the configuration's Mechanism
// is this one's. Errors: ErrNoise without local noise, those of add and of the source of randomness.
func (l *Learner) NoisySums(add func(rows []int, sum []int64) error) ([]int64, error) {
	if l.noise == nil {
		return nil, fmt.Errorf("noisy sums: %w", ErrNoise)
	}
	all, scratch := make([]int64, l.cfg.Dim()), make([]int64, l.cfg.Dim())
	for range max(1, l.cfg.params().Steps) {
		rows, _, err := l.cfg.draw(l.sites[0].Rows(), l.noise.rand)
		if err != nil {
			return nil, err
		}
		one := make([]int64, len(all))
		if err := add(rows, one); err != nil {
			return nil, err
		}
		if err := l.noise.add(one, scratch); err != nil {
			return nil, err
		}
		if err := addInto(all, one); err != nil {
			return nil, err
		}
	}
	return all, l.boundUpdate(all)
}

// release makes a sum over shards private: it adds the noise, and then bounds what is sent,
// which is post-processing.
func (l *Learner) release(sum []int64) error {
	if err := l.noise.add(sum, make([]int64, len(sum))); err != nil {
		return err
	}
	return l.boundUpdate(sum)
}

// boundUpdate clips a released update to UpdateClip.
func (l *Learner) boundUpdate(update []int64) error {
	bound, err := l.cfg.grid().IntBound(l.cfg.updateClip())
	if err != nil {
		return err
	}
	fixedpoint.ClipInt(update, bound)
	return nil
}
