package pvi

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/model"
)

// In a curvature round a shard's term, or a record's in a noisy step, is a slice of the curvature of
// its log-likelihood at the public posterior, Dim of its entries, in units in which CurvatureBound is
// Clip. It is clipped like every term, so that a curvature round costs what a round of learning does.
// Neither the public state nor a factor changes. Round CurvatureFrom reveals the first slice, the
// next round the second one, and so on, round and round.

// CurvatureRound reports whether a round reveals a part of the curvature.
func (c Config) CurvatureRound(round int) bool {
	return c.CurvatureFrom > 0 && round >= c.CurvatureFrom && !c.ResidualRound(round)
}

// CurvatureSlices is the number of rounds that reveal the whole curvature.
func (c Config) CurvatureSlices() int {
	d := c.Weights()
	return (d*(d+1)/2 + c.Dim() - 1) / c.Dim()
}

// CurvatureSlice is the first entry of the slice of a round, and the factor of its entries: CurvatureBound
// becomes Clip.
func (c Config) CurvatureSlice(round int) (from int, scale float64) {
	from = (round - c.CurvatureFrom) % c.CurvatureSlices() * c.Dim()
	if c.Clip == 0 {
		return from, 1
	}
	return from, c.Clip / c.CurvatureBound
}

func (c Config) checkCurvature(bad badField) {
	if c.CurvatureFrom == 0 {
		if c.CurvatureBound != 0 {
			bad("curvature_bound", c.CurvatureBound, "0 without a curvature_from")
		}
		return
	}
	if c.CurvatureFrom < 2 || c.CurvatureFrom > MaxRounds {
		bad("curvature_from", c.CurvatureFrom, fmt.Sprintf("0, or 2 to %d", MaxRounds))
	}
	if !(c.CurvatureBound >= 0x1p-40 && c.CurvatureBound <= 0x1p40) {
		bad("curvature_bound", c.CurvatureBound, "2^-40 to 2^40")
	}
	joint := c.Climbs() || !c.params().Local
	if why := c.uncorrected(); why != "" || c.name() == NameAveraging || c.Family != gauss.MeanField || !joint {
		bad("curvature_from", c.CurvatureFrom, `0 unless the model is "logistic" or "linear" in the mean-field `+
			`family, under strategy "dataset" or "virtual" with joint noise, or "optimisation" or "hybrid" with `+
			`optimiser "natural"`)
	}
}

// proposeCurvature is a curvature round.
func (l *Learner) proposeCurvature(ctx context.Context, round int, q []int64) (Proposal, error) {
	m, err := l.cfg.space().Moments(l.cfg.Reals(q))
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	term, ints := make([]float64, l.cfg.Dim()), make([]int64, l.cfg.Dim())
	ws := model.NewWorkspace(l.cfg.Weights(), l.maxRows)
	from, scale := l.cfg.CurvatureSlice(round)
	clipped := 0
	for k, site := range l.sites {
		if err := ctx.Err(); err != nil {
			return Proposal{}, fmt.Errorf("shard %d: %w", k, err)
		}
		site.(model.Curved).Curvature(ws, term, from, m.Mean, m.Variance)
		for i := range term {
			term[i] *= scale
		}
		cut, err := l.quantise(ints, term, 1)
		if err != nil {
			return Proposal{}, fmt.Errorf("shard %d: %w", k, err)
		}
		if cut {
			clipped++
		}
		if err := addInto(p.Update, ints); err != nil {
			return Proposal{}, err
		}
	}
	p.ClippedFraction = float64(clipped) / float64(len(l.sites))
	p.Memo = l.cfg.encode(l.cfg.newBlock(kindMemo, round))
	return p, nil
}

// proposeRecordCurvature is a curvature round of noisy steps: the mean of as many noisy sums over
// samples of records as a round of learning has.
func (l *Learner) proposeRecordCurvature(ctx context.Context, round int, q []int64) (Proposal, error) {
	c := l.cfg
	m, err := c.space().Moments(c.Reals(q))
	if err != nil {
		return Proposal{}, err
	}
	d, _, err := l.newDescent(ctx, q, make([]int64, c.Dim()))
	if err != nil {
		return Proposal{}, err
	}
	site := l.sites[0].(model.CurvedRecords)
	mean, sum, term := make([]float64, c.Dim()), make([]float64, c.Dim()), make([]float64, c.Dim())
	from, scale := c.CurvatureSlice(round)
	for range c.params().Steps {
		err := d.release(sum, 1, func(rows []int, f func(int, []float64) error) error {
			for _, row := range rows {
				site.RecordCurvature(term, from, row, m.Mean, m.Variance)
				floats.Scale(scale, term)
				if err := f(row, term); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return Proposal{}, err
		}
		floats.AddScaled(mean, 1/float64(c.params().Steps), sum)
	}
	return l.sent(round, d, mean, l.cfg.newBlock(kindMemo, round).rows)
}
