package pvi

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// With Newton a party's term is a step in the weights: from the public mean m to the mean of
// the posterior that its own records give under a prior of PriorPrecision around m. In the
// coordinates of all parties' steps the sum of the noise needs no inverse of a curvature.
//
// The first half of a term is the step, clipped to StepBound and in units in which that
// is stepPart of Clip. The second half is the slopes, the diagonal of the derivative of
// the clipped step by -m: how far parties' data determine each weight. They are in [0, 1], but of a
// clipped step, where one is at least -1/8. A term has no private factor: it is a function of m and the
// party's records, and its norm is at most Clip. Slopes have a tenth of its square, since their noise
// counts by the way that is left to the weights, and that of the steps in full.
//
// The public mean moves by the sum of the steps. Precisions stay those of the start.

// Shares of a term's norm.
var (
	stepPart  = math.Sqrt(0.9)
	slopePart = math.Sqrt(0.1)
)

// newton reports whether parties send Newton steps.
func (c Config) newton() bool { return c.params().Optimiser == Newton }

// RoundsOfBound is how many rounds have the same bound, until it is StepBound: a step along a sum that is
// half noise leaves about .7 of the way, and two leave half of it.
const RoundsOfBound = 2

// doublings is by how many factors of 2 a round's bound on a step exceeds StepBound.
func (c Config) doublings(round int) int { return max(0, c.StepDoublings-(round-1)/RoundsOfBound) }

// maxDoublings bounds StepDoublings.
const maxDoublings = 24

// StepScale is the factor on a round's sums besides the damping: 1 but in the first rounds of
// Newton steps. A bound that is larger keeps nearly all of the slope.
func (c Config) StepScale(round int) float64 {
	if k := c.doublings(round); k > 0 {
		return math.Ldexp(c.StepKept, k)
	}
	return 1
}

// stepBound is the bound on a step in a round.
func (c Config) stepBound(round int) float64 { return math.Ldexp(c.StepBound, c.doublings(round)) }

// NewtonUnits is what a round's terms are in: a step as long as bound has the norm step, and slopes that are
// all 1 have the norm slopes.
func (c Config) NewtonUnits(round int) (bound, step, slopes float64) {
	return c.stepBound(round), stepPart * c.Clip, slopePart * c.Clip
}

func (c Config) checkNewton(bad badField) {
	if !c.newton() {
		if c.StepBound != 0 || c.StepDoublings != 0 || c.StepKept != 0 {
			bad("step_bound, step_doublings, step_kept", c.StepBound, `0 without optimiser "newton"`)
		}
		return
	}
	if !(c.StepBound >= 0x1p-20 && c.StepBound <= 0x1p20) {
		bad("step_bound", c.StepBound, `2^-20 to 2^20 with optimiser "newton"`)
	}
	if !(c.StepKept >= 0x1p-10 && c.StepKept <= 1) {
		bad("step_kept", c.StepKept, `2^-10 to 1 with optimiser "newton"`)
	}
	if c.StepDoublings < 0 || c.StepDoublings > maxDoublings {
		bad("step_doublings", c.StepDoublings, fmt.Sprintf("0 to %d", maxDoublings))
	}
	if c.name() != NameDataset || c.params().Local || c.Model != bayes.Logistic && c.Model != bayes.Linear ||
		c.Family != gauss.MeanField || c.Clip == 0 || c.Beta != 0 || c.CurvatureFrom != 0 {
		bad("optimiser", Newton, `another one unless the model is "logistic" or "linear" in the mean-field `+
			`family, under strategy "dataset" with a clip and joint noise, a beta of 0 and no curvature rounds`)
	}
}

// proposeNewton is a round of Newton steps.
func (l *Learner) proposeNewton(ctx context.Context, round int, q []int64) (Proposal, error) {
	m, err := l.cfg.space().Moments(l.cfg.Reals(q))
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	if err := ctx.Err(); err != nil {
		return Proposal{}, err
	}
	term, clipped := l.newtonTerm(round, m.Mean)
	if _, err := l.quantise(p.Update, term, 1); err != nil {
		return Proposal{}, err
	}
	if clipped {
		p.ClippedFraction = 1
	}
	p.Memo = l.cfg.encode(l.cfg.newBlock(kindMemo, round))
	return p, nil
}

// newtonTerm returns the party's term at the public mean and whether its step is clipped. It is
// the zero vector for records that have no step.
func (l *Learner) newtonTerm(round int, m []float64) (term []float64, clipped bool) {
	d := len(m)
	term = make([]float64, 2*d)
	gradient, h := make([]float64, d), mat.NewSymDense(d, nil)
	ws := model.NewWorkspace(d, l.maxRows)
	l.sites[0].(model.Scored).Score(ws, gradient, h, m)
	own := mat.NewSymDense(d, nil)
	own.CopySym(h)
	for i := range d {
		own.SetSym(i, i, own.At(i, i)+l.cfg.PriorPrecision)
	}
	var root mat.Cholesky
	if !root.Factorize(own) {
		return term, false
	}
	step := mat.NewVecDense(d, nil)
	var slopes mat.Dense // (H + P)^-1 H
	if root.SolveVecTo(step, mat.NewVecDense(d, gradient)) != nil || root.SolveTo(&slopes, h) != nil {
		return term, false
	}
	bound := l.cfg.stepBound(round)
	length := mat.Norm(step, 2)
	clipped = length > bound
	scale := 1.0
	turn := mat.NewVecDense(d, nil) // what clipping takes from the slopes
	if clipped {
		scale = bound / length
		turn.MulVec(slopes.T(), step)
		turn.ScaleVec(1/(length*length), turn)
	}
	floats.AddScaled(term[:d], scale/bound*stepPart*l.cfg.Clip, step.RawVector().Data)
	for i := range d {
		slope := scale * (slopes.At(i, i) - step.AtVec(i)*turn.AtVec(i))
		term[d+i] = slope * slopePart * l.cfg.Clip / math.Sqrt(float64(d))
	}
	return term, clipped
}

// foldNewton is Fold of a round of Newton steps: the precisions stay.
func (c Config) foldNewton(round int, raw, sum []int64) ([]int64, error) {
	next := append([]int64(nil), raw...)
	d := c.Weights()
	k := c.DampingUnits(round)
	if bits := c.doublings(round); bits > 0 {
		k = max(1, int64(math.RoundToEven(c.StepKept*float64(k)))) << bits
	}
	if i := addScaled(next[:d], raw[:d], k, sum[:d]); i >= 0 {
		return nil, fmt.Errorf("fold of round %d, coordinate %d: %w", round, i, ErrOverflow)
	}
	return next, nil
}
