package pvi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/bayes"
)

// In a residual round of linear regression a shard's term is of the squares of its records' residuals r
// at public weights: the mean of min(r^2, L)/L, with L = ResidualLimit NoiseSD^2, times 2B less B/4, and
// 7B/8 for that the shard has records; B is the integer clip. Only the first depends on a record's value,
// within an interval of 2B, so that a residual round costs what a round of learning does. Neither the
// public state nor a factor changes.
//
// With Newton steps a term is a party's: that mean times 2B less B, at the public mean.

// ResidualLimit is the largest square of a residual that counts, in squares of NoiseSD.
const ResidualLimit = 6

// leastClip is the least integer clip of residual rounds. From it on a term's norm is at most 2B, with the
// rounding: (7/4 B + 1)^2 + (7/8 B + 1)^2 <= 4 B^2.
const leastClip = 32

// ResidualRound reports whether a round sums squares of residuals.
func (c Config) ResidualRound(round int) bool { return c.ResidualFrom > 0 && round >= c.ResidualFrom }

// Learning is how many of the first rounds learn.
func (c Config) Learning(rounds int) int {
	for _, from := range []int{c.CurvatureFrom, c.ResidualFrom} {
		if from > 0 {
			rounds = min(rounds, from-1)
		}
	}
	return rounds
}

func (c Config) checkResidual(bad badField) {
	if c.ResidualFrom == 0 {
		return
	}
	if c.ResidualFrom < max(2, c.CurvatureFrom+1) || c.ResidualFrom > MaxRounds {
		bad("residual_from", c.ResidualFrom, fmt.Sprintf("0, or 2 to %d and after curvature_from", MaxRounds))
	}
	p := c.params()
	shards := c.name() == NameVirtual && !p.Local && p.ShardRows > 0 && c.Factors != FactorsNoisy
	b, err := c.clipUnits()
	if c.Model != bayes.Linear || !shards && !c.newton() || err != nil || b < leastClip {
		bad("residual_from", c.ResidualFrom, fmt.Sprintf(`0 unless the model is "linear" under strategy "virtual" `+
			`with shard_rows, or by Newton steps, with joint noise and a clip of %d units of the grid`, leastClip))
	}
}

// ProposeResiduals is Propose in a residual round, for public weights. Errors: those of Propose, and
// bayes.ErrShape for weights of another number.
func (l *Learner) ProposeResiduals(round int, weights []float64, state []byte) (Proposal, error) {
	if _, err := l.open(round, state); err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	if !l.cfg.ResidualRound(round) || len(weights) != l.cfg.Features {
		return Proposal{}, fmt.Errorf("propose: residuals of round %d at %d weights: %w", round, len(weights),
			ErrRound)
	}
	reach, less, one, err := l.cfg.ResidualTerm()
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	cut, rows := 0, 0
	for _, d := range l.records {
		if d.Rows() == 0 {
			continue
		}
		mean := 0.0
		for i := range d.Y {
			share := l.cfg.residual(d, i, weights)
			mean += share / float64(d.Rows())
			if share == 1 {
				cut++
			}
		}
		rows += d.Rows()
		if err := addInto(p.Update[:2], []int64{upTo(reach, mean) - less, one}); err != nil {
			return Proposal{}, fmt.Errorf("propose: %w", err)
		}
	}
	p.ClippedFraction = float64(cut) / float64(max(1, rows))
	p.Memo = l.cfg.encode(l.cfg.newBlock(kindMemo, round))
	return p, nil
}

// ResidualTerm is how a term of a residual round is made of the mean of its squares, a share of their limit:
// that share of reach, minus less, and one for that the shard has records.
func (c Config) ResidualTerm() (reach, less, one int64, err error) {
	bound, err := c.clipUnits()
	if err != nil {
		return 0, 0, 0, err
	}
	b := int64(bound)
	if c.newton() {
		return 2 * b, b, 0, nil
	}
	return 2 * b, b / 4, b - b/8, nil
}

// upTo is a share of the reach, at least 0 and at most the reach, exactly.
func upTo(reach int64, share float64) int64 {
	if v := math.Round(share * float64(reach)); v < float64(reach) {
		return max(0, int64(v))
	}
	return reach
}

// residual is a record's min(r^2, L)/L: in [0, 1] for any record and weights, 0 for what is not a number.
func (c Config) residual(d bayes.Data, row int, weights []float64) float64 {
	r := (d.Y[row] - floats.Dot(d.X[row*c.Features:(row+1)*c.Features], weights)) / c.NoiseSD
	if share := r * r / ResidualLimit; share < 1 {
		return share
	} else if share >= 1 {
		return 1
	}
	return 0
}

// proposeResiduals is a residual round at the mean of the public posterior.
func (l *Learner) proposeResiduals(round int, q []int64, state []byte) (Proposal, error) {
	m, err := l.cfg.space().Moments(l.cfg.Reals(q))
	if err != nil {
		return Proposal{}, err
	}
	return l.ProposeResiduals(round, m.Mean, state)
}
