package global

import (
	"context"
	"fmt"
	"io"

	"choir/learn/internal/trusted"
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
	return trusted.Run{Dim: cfg.Dim(), Parties: len(learners), Propose: propose, Noise: noise,
		Fold: cfg.Fold}.Rounds(cfg.Initial(), rounds)
}
