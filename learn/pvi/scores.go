package pvi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
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

// fromScores returns a sum of such terms for the public state in natural parameters. Errors: ErrOverflow,
// those of the state's shape.
func (c Config) fromScores(round int, raw, sum []int64) ([]int64, error) {
	repaired, _, err := c.repair(raw)
	if err != nil {
		return nil, err
	}
	q, n, times := c.floats(repaired), c.Weights(), c.TermScale(round)
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

// leastAnswer is the least share of scores that is counted on.
const leastAnswer = 0.1

// readings is how often what clips leave of scores follows from the weights by the reading before. The first
// of them are up to a tenth of the way short.
const readings = 3

// again reads scores by the weights of the last reading.
func (r *reading) again(trace []Observation, q *bayes.Posterior) (*bayes.Posterior, error) {
	var err error
	for range readings {
		noise := q.Likelihood().NoiseSD
		r.observed = noise * noise / (r.c.NoiseSD * r.c.NoiseSD)
		r.near = q.Mean()
		if q, err = r.solved(); err != nil {
			return nil, err
		}
		if q, err = r.withResiduals(trace, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// unclip makes the curvature and, once the weights have been read, scores what they are without clips on
// average; see Lengthened and Answers of noiseaware.Trace.
func (r *reading) unclip(t *noiseaware.Trace) error {
	if !r.c.scores() || r.c.params().ShardRows != 1 {
		return nil
	}
	t.Observation = 1 / (r.c.NoiseSD * r.c.NoiseSD)
	if r.lengthened == nil {
		t.Terms = &noiseaware.Slices{Size: r.c.Dim(), Bound: r.c.CurvatureBound}
		whole, err := t.Lengthened()
		if err != nil {
			return err
		}
		r.lengthened = &whole
	}
	t.Curvature, t.Terms = *r.lengthened, nil
	if r.near == nil {
		return nil
	}
	left, beside, err := t.Answers(r.near, r.clips, r.c.PrecisionUnit, leastAnswer)
	if err != nil || left == nil {
		return err
	}
	for s, a := range left {
		floats.Scale(1/a, t.Scores[s])
		floats.Sub(t.Scores[s], beside[s])
		for j := s; j < len(left); j++ {
			t.Noise.SetSym(s, j, t.Noise.At(s, j)/(a*left[j]))
		}
	}
	return nil
}
