package pvi

import (
	"context"
	"errors"
	"math"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// Without noise a committee of exact members is the textbook's product of posteriors:
// with the prior at every member, prior + sum of (posterior_m - prior); with a part
// of it at each, the sum of the posteriors under prior/M. In linear regression both
// are the exact posterior, wherever members start from: a start changes the way of their
// steps, and all together take it out of the sum.
func TestCommitteesCombine(t *testing.T) {
	for _, start := range []float64{0, 8} {
		for _, s := range []StrategyName{NameBCMSame, NameBCMSplit} {
			committeeIsExact(t, s, start)
		}
	}
}

func committeeIsExact(t *testing.T, s StrategyName, start float64) {
	c := linearConfig(gauss.Full)
	c.FracBits, c.DampingBits = 34, 10
	c.Features, c.NoiseSD = 2, 1
	c = as(c, s, func(p *Params) {
		p.Steps = 3000
		p.LearningRate = 0.01
		p.Optimiser = SGD
	})
	c.PrecisionFloor = 2 // lifts where members start, and nothing else
	if c.StartPrecision = start; start > 0 {
		c.StartSpread = 0.5
	}
	if s == NameBCMSplit {
		c = as(c, c.name(), func(p *Params) { p.Parties = 3 })
	}
	var ls []*Learner
	var all bayes.Data
	for i, share := range []float64{0.25, 0.25, 0.5} {
		d := dense(c, uint64(i), 15+5*i)
		ls = append(ls, noised(t, learner(t, c, d, share), 0, 1))
		all.X, all.Y = append(all.X, d.X...), append(all.Y, d.Y...)
	}
	h := run(t, c, ls, nil, 1)
	got, want := c.Reals(h.Final()), exactPosterior(c, all)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
			t.Errorf("%s from %v, coordinate %d: %v, want %v", s, start, i, got[i], want[i])
		}
	}
}

// A committee has one round, and BCMSplit exactly its number of members.
func TestCommitteeRefusals(t *testing.T) {
	c := methodConfigs()[NameBCMSplit]
	l := noised(t, learner(t, c, dense(c, 1, 20), 1), 0, 1)
	if _, err := Run(context.Background(), c, []*Learner{l, l, l}, nil, 2); !errors.Is(err, ErrRound) {
		t.Errorf("two rounds: %v", err)
	}
	if _, err := c.Fold(2, c.Initial(), make([]int64, c.Dim())); !errors.Is(err, ErrRound) {
		t.Errorf("fold of round 2: %v", err)
	}
	if _, err := Run(context.Background(), c, []*Learner{l}, nil, 1); !errors.Is(err, ErrConfig) {
		t.Errorf("one member of three: %v", err)
	}
}
