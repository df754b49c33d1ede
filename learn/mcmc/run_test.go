package mcmc

import (
	"context"
	"io"

	"choir/learn/internal/trusted"
)

// run drives learners for Config.Rounds rounds with a plain sum in place of a secret one: the
// reference of a trusted aggregator, with the arithmetic of a session. coins(i) is the
// source of party i's samples; it may be nil without sampling. noise adds a round's noise to
// the sum, of the variance in public; nil adds none. It returns the last public state.
func run(ctx context.Context, cfg Config, public Public, learners []*Learner, coins func(party int) io.Reader,
	noise func(round int, sum []int64) error) ([]int64, error) {
	s, err := New(cfg, public)
	if err != nil {
		return nil, err
	}
	propose := func(_, party int, raw []int64) ([]int64, error) {
		var from io.Reader
		if coins != nil {
			from = coins(party)
		}
		p, err := learners[party].Propose(ctx, raw, from)
		return p.Update, err
	}
	return trusted.Run{Dim: cfg.Dim(), Parties: len(learners), Propose: propose, Noise: noise,
		Fold: s.Fold}.Rounds(s.Initial(), cfg.Rounds)
}
