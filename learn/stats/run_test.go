package stats

import (
	"context"

	"choir/learn/internal/trusted"
)

// run drives learners for a number of rounds with a plain sum in place of a secret one: the
// reference of a trusted aggregator. noise adds a round's noise to the sum; nil adds none.
// It returns the last public state, on the integers of a session with the same noise.
func run(ctx context.Context, cfg Config, learners []*Learner, noise func(round int, sum []int64) error,
	rounds int) ([]int64, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	propose := func(round, party int, raw []int64) ([]int64, error) {
		p, err := learners[party].Propose(ctx, round, raw)
		return p.Update, err
	}
	return trusted.Run{Dim: cfg.Dim(), Parties: len(learners), Propose: propose, Noise: noise,
		Fold: cfg.Fold}.Rounds(cfg.Initial(), rounds)
}
