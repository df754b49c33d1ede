package pvi

import (
	"fmt"
	"math"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// scores reports whether terms have scores in the place of linear parts.
func (c Config) scores() bool { return c.PrecisionUnit > 0 }

// toScores writes a factor's natural parameters, h and -P/2 of every weight, as the score at the mean m of
// the public posterior q and a multiple of the precision: h - P m and -u P/2, with u the unit.
//
// P m is most of h, and its clip would depend on the sign of a record's residual: it takes more of those on
// the side of P m, so that sums of clipped terms pull the weights to 0. The length of the score is the same
// for residuals of both signs, so that a clipped score has the mean 0 at the true weights, and with a small
// unit precisions, which later rounds reveal without it, are little of what is clipped. The way back is
// public, and what sums tell of the weights has no noise of a precision.
//
// A round's term is that times 2 for each halving of its clip.
func (c Config) toScores(round int, factor, q []float64) {
	n, times := c.Weights(), c.TermScale(round)
	for i := range n {
		factor[i] = times * (factor[i] + 2*factor[n+i]*meanOf(q, n, i))
		factor[n+i] *= times * c.PrecisionUnit
	}
}

// TermScale is by what a round's terms are multiplied: 2 for each halving of the clip so far. Sums are
// divided by it.
func (c Config) TermScale(round int) float64 {
	rounds := c.CurvatureFrom - 1
	if c.ClipHalvings == 0 || rounds < 1 {
		return 1
	}
	return math.Ldexp(1, min(c.ClipHalvings, (round-1)*(c.ClipHalvings+1)/rounds))
}

// NaturalSum returns a round's sum for the public state in natural parameters, which it is without a
// PrecisionUnit. Errors: ErrOverflow, those of the state's shape.
func (c Config) NaturalSum(round int, raw, sum []int64) ([]int64, error) {
	if !c.scores() {
		return sum, nil
	}
	repaired, _, err := c.repair(raw)
	if err != nil {
		return nil, err
	}
	q, n, times := c.Reals(repaired), c.Weights(), c.TermScale(round)
	out := make([]int64, len(sum))
	for i := range n {
		// Conversions forbid fused multiply-adds: every member must get the same integers.
		precision := float64(float64(sum[n+i])/c.PrecisionUnit) / times
		score := float64(sum[i]) / times // a power of 2
		linear := math.RoundToEven(score - float64(2*float64(precision*meanOf(q, n, i))))
		precision = math.RoundToEven(precision)
		if !(math.Abs(linear) < 0x1p62 && math.Abs(precision) < 0x1p62) {
			return nil, fmt.Errorf("coordinate %d: %w", i, ErrOverflow)
		}
		out[i], out[n+i] = int64(linear), int64(precision)
	}
	return out, nil
}

// meanOf is the mean of the i-th of n independent weights.
func meanOf(q []float64, n, i int) float64 { return q[i] / (-2 * q[n+i]) }

// maxHalvings leaves the least clip some units of the grid.
const maxHalvings = 4

// checkScores rejects a unit where private factors need natural parameters, or terms are not of one model.
func (c Config) checkScores(bad badField) {
	u := c.PrecisionUnit
	if h := c.ClipHalvings; h < 0 || h > maxHalvings || h > 0 && (u == 0 || c.CurvatureFrom == 0) {
		bad("clip_halvings", h, fmt.Sprintf("0, or to %d with a precision_unit and curvature rounds", maxHalvings))
	}
	if u == 0 {
		return
	}
	scores := c.Model == bayes.Linear && c.Family == gauss.MeanField && c.name() == NameVirtual &&
		!c.params().Local && c.Beta == 1 && c.Clip > 0
	if !(u >= 0x1p-10 && u <= 1) || !scores {
		bad("precision_unit", u, `0, or 2^-10 to 1 if the model is "linear" in the mean-field family under `+
			`strategy "virtual" with joint noise, a clip and beta 1`)
	}
}
