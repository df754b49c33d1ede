package global

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Run drives learners for a number of rounds with a plain sum in place of a secret
// one: the reference of a trusted aggregator. It takes the very steps of a session,
// on the same integers. coins(i) is where party i's samples come from. noise adds a
// round's noise to the sum, in units of 2^-FracBits; nil adds none. It returns the
// last public state.
func Run(ctx context.Context, cfg Config, learners []*Learner, coins func(party int) io.Reader, noise func(round int, sum []int64) error, rounds int) ([]int64, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	raw := cfg.Initial()
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, cfg.Dim())
		for i, l := range learners {
			if l.cfg != cfg {
				return nil, fmt.Errorf("%w: learner %d was made with another one", ErrConfig, i)
			}
			p, err := l.Propose(ctx, raw, coins(i))
			if err != nil {
				return nil, fmt.Errorf("round %d, party %d: %w", round, i, err)
			}
			for j, v := range p.Update {
				sum[j] += v
			}
		}
		if noise != nil {
			if err := noise(round, sum); err != nil {
				return nil, fmt.Errorf("round %d: noise: %w", round, err)
			}
		}
		next, err := cfg.Fold(round, raw, sum)
		if err != nil {
			return nil, err
		}
		raw = next
	}
	return raw, nil
}

// Moments are the posterior's means and standard deviations in a public state: the
// averaged parameters, or the last ones without averaging.
func (c Config) Moments(raw []int64) (mean, sd []float64, err error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("posterior: %w", err)
	}
	mean, sd = c.parameters(s.mean)
	for i, v := range sd {
		sd[i] = math.Exp(v)
	}
	return mean, sd, nil
}

// parameters converts parameters to real numbers.
func (c Config) parameters(units []int64) (mean, logSD []float64) {
	d := c.Weights()
	all := make([]float64, 2*d)
	for i, v := range units {
		all[i] = math.Ldexp(float64(v), -paramBits)
	}
	return all[:d], all[d:]
}
