package global

import (
	"context"
	"fmt"
	"io"
	"math"

	"choir/learn/pvi"
)

// run drives learners for a number of rounds with a plain sum in place of a secret one: the
// reference of a trusted aggregator. It does the same arithmetic on the same integers as a
// session. coins(i) is the source of party i's samples. noise adds a round's noise to the
// sum, in units of 2^-FracBits; nil adds none. It returns the last public state.
func run(ctx context.Context, cfg Config, learners []*Learner, coins func(party int) io.Reader,
	noise func(round int, sum []int64) error, rounds int) ([]int64, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	for i, l := range learners {
		if l.cfg != cfg {
			return nil, fmt.Errorf("%w: learner %d was made with another one", ErrConfig, i)
		}
	}
	propose := func(round, party int, raw []int64) ([]int64, error) {
		p, err := learners[party].Propose(ctx, round, raw, coins(party))
		return p.Update, err
	}
	return pvi.Trusted{Dim: cfg.Dim(), Parties: len(learners), Propose: propose, Noise: noise,
		Fold: cfg.Fold}.Rounds(cfg.Initial(), rounds)
}

// moments returns the posterior's means and standard deviations in a public state: of the
// averaged parameters, or of the last ones without averaging.
func (c Config) moments(raw []int64) (mean, sd []float64, err error) {
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

// parameters are the means and log standard deviations of a state's parameters.
func (c Config) parameters(units []int64) (mean, logSD []float64) {
	d := c.weights()
	all := make([]float64, 2*d)
	for i, v := range units {
		all[i] = math.Ldexp(float64(v), -paramBits)
	}
	if c.Optimiser == Natural {
		for i, p := range all[d:] {
			all[i], all[d+i] = all[i]/p, -0.5*math.Log(p)
		}
	}
	return all[:d], all[d:]
}
