package global

import (
	"context"
	"errors"
	"fmt"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/model"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// Rounds from CurvatureFrom on reveal the curvature: a drawn record's term is a slice of c x x',
// Dim of its entries, in units in which CurvatureBound is Clip. The state does not change.

func (c Config) curvatureRound(round int) bool {
	return c.CurvatureFrom > 0 && round >= c.CurvatureFrom
}

// CurvatureSlices is the number of rounds that reveal the whole curvature once.
func (c Config) CurvatureSlices() int {
	d := c.weights()
	return (d*(d+1)/2 + c.Dim() - 1) / c.Dim()
}

func (c Config) sliceStart(round int) int {
	return (round - c.CurvatureFrom) % c.CurvatureSlices() * c.Dim()
}

func (c Config) curvatureScale() float64 { return c.Clip / c.CurvatureBound }

// terms are those of single records in curvature rounds.
func (c Config) terms() *noiseaware.Slices {
	return &noiseaware.Slices{Size: c.Dim(), Bound: c.CurvatureBound}
}

func (c Config) checkCurvature(bad badField) {
	if c.CurvatureFrom == 0 {
		if c.CurvatureBound != 0 {
			bad("curvature_bound", c.CurvatureBound, "0 without a curvature_from")
		}
		return
	}
	if c.Model != bayes.Logistic || c.CurvatureFrom < 2 || c.CurvatureFrom > pvi.MaxRounds {
		bad("curvature_from", c.CurvatureFrom, fmt.Sprintf(`0, or 2 to %d with model "logistic"`, pvi.MaxRounds))
	}
	if !(c.CurvatureBound >= 0x1p-40 && c.CurvatureBound <= 0x1p40) {
		bad("curvature_bound", c.CurvatureBound, "2^-40 to 2^40")
	}
}

// sumCurvature is sum in a curvature round.
func (l *Learner) sumCurvature(ctx context.Context, round int, s state, drawn []int) (Proposal, error) {
	site := l.site.(*model.Logistic)
	mean, logSD := l.cfg.parameters(s.param)
	variance := make([]float64, len(logSD))
	for i, v := range logSD {
		variance[i] = exp(2 * v)
	}
	terms := pvi.NewTerms(l.cfg.grid(), l.cfg.Clip, l.clip)
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	term := make([]float64, l.cfg.Dim())
	clipped := 0
	for n, row := range drawn {
		if n%256 == 0 && ctx.Err() != nil {
			return Proposal{}, ctx.Err()
		}
		site.RecordCurvature(term, l.cfg.sliceStart(round), row, mean, variance)
		for i := range term {
			term[i] *= l.cfg.curvatureScale()
		}
		cut, err := terms.Add(p.Update, term)
		if errors.Is(err, fixedpoint.ErrNotFinite) || errors.Is(err, fixedpoint.ErrRange) {
			cut, err = true, nil // counts as zero: an error would reveal the record
		}
		if err != nil {
			return Proposal{}, err
		}
		if cut {
			clipped++
		}
	}
	if n := len(drawn); n > 0 {
		p.ClippedFraction = float64(clipped) / float64(n)
	}
	return p, nil
}
