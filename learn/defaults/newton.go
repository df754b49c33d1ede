package defaults

import (
	"math"

	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/noiseaware/newton"
	"choir/learn/pvi"
)

// Newton is the setting for one Newton step a party and round.
type Newton struct {
	Rounds          int
	StepBound, Clip float64
	// Kept is the share of a step's slope that the bound keeps near the true weights.
	Kept           float64
	Doublings      int
	Damping, Decay float64
	Precision      float64
	// Noise is the standard deviation of the noise of all rounds together on a weight's mean.
	Noise float64
	Least float64 // parties from which the sum tells more than one of them alone
}

// Constants of Newton.
const (
	newtonRounds = 16
	logitCurve   = 0.15 // p(1-p) of a record, about
	stepShare    = 0.95 // of a term's norm: what the slopes leave
	stepSlack    = 1.2  // of the bound over an expected step, where the noise is short
	stepTight    = 0.6  // the same where the noise is long
	skewed       = 4    // root of the parties over the records of one, from which skewed errors outweigh noise
	stepDecay    = 0.5  // of the damping: late rounds average
	weightsNorm  = 2    // of all weights, in the prior's standard deviations
	aloneFactor  = 2.6  // over the noise that is as long as one party's error
)

// Newton is the setting for Newton steps of parties that have Records/Parties records each, of
// curvature curve times a column's mean square: 0 for a logistic model.
//
// Near the true weights a party's step is the error of its own estimate, drawn towards 0 by the
// prior. In a direction with the slope a its variance is a(1-a) prior variances, and their sum is the
// square of an expected length. A bound of that length or less shortens most steps, and what it keeps of
// their sum falls less than the noise: by a bound r times the length it keeps about r/(1+r^4)^(1/4), and
// the noise is as r. But the sum of shortened steps is 0 at a kind of median of the parties' estimates,
// and not at their mean, which many parties of few records show: the longer the noise on the sum is over the
// parties' own errors, or over that, the tighter is the bound. bound is the plan's, or 0.
//
// First rounds have a larger one, as far as the noise allows. Precision and clip are such that a sum of steps
// moves the public mean by the mean step over the mean slope, and the damping is that of a filter that knows
// the noise.
func (f Facts) Newton(curve, bound float64) Newton {
	if curve == 0 {
		curve = logitCurve
	}
	prior := f.prior()
	d := f.Norm * f.Norm / f.Spread
	parties := float64(max(f.Parties, 1))
	each := float64(f.AssumedRecords()) / parties
	slope := meanSlope(curve*f.Spread/prior, each, d)
	rank := min(each, d)
	within := min(0.99, slope*d/rank)
	length := math.Sqrt(rank * within * (1 - within) / prior)
	reach := math.Sqrt(d/prior) / 2
	s := Newton{Rounds: f.Rounds, Decay: stepDecay, StepBound: bound}
	if bound == 0 {
		own := math.Sqrt(parties/d) * max(1, math.Sqrt(parties/each)/skewed)
		slack := max(stepTight, stepSlack/max(1, 2*f.Noise/own))
		s.StepBound = round3(min(reach, slack*length))
	}
	s.Kept = round3(newton.SlopeKept(s.StepBound / length))
	unit := s.StepBound / (parties * stepShare * slope * s.Kept) // of a clip on the sum, on the mean
	s.Noise = f.Noise * unit
	s.Least = aloneFactor * f.Noise * math.Sqrt(d) / slope
	wanted := max(0, int(math.Ceil(math.Log2(2*reach/(stepSlack*length)))))
	rounds := s.Rounds
	if rounds == 0 {
		rounds = newtonRounds
	} else {
		wanted = min(wanted, rounds/(2*pvi.RoundsOfBound))
	}
	round := prior * d * s.Noise * s.Noise * float64(rounds) / (weightsNorm * weightsNorm)
	for s.Doublings < wanted && 4*math.Pow(4, float64(s.Doublings))*round*s.Kept*s.Kept < 1.5 {
		s.Doublings++
	}
	if s.Rounds == 0 {
		s.Rounds = max(newtonRounds, pvi.RoundsOfBound*s.Doublings+newtonRounds-3)
	}
	s.Damping = max(0.001, round3(1/(1+round)))
	own := s.StepBound * unit // spread of the parties' steps, at most
	s.Precision = round3(1 / (1.5*s.Noise*s.Noise + own*own*parties/d + 1/(curve*f.Spread*each*parties)))
	s.Clip = round3((s.Precision + prior) * unit)
	return s
}

// meanSlope is the mean over d directions of e/(1+e), with e the records' precision in a direction
// over the prior's, for n records of curvature c each and random columns: j = x/(1+x) with x =
// c (n - d j), since directions that other weights take are lost.
func meanSlope(c, n, d float64) float64 {
	low, high := 0.0, min(1, n/d)
	for range 60 {
		j := (low + high) / 2
		if x := c * (n - d*j); x/(1+x) > j {
			low = j
		} else {
			high = j
		}
	}
	return max(low, 1e-3)
}

// Spreads of predictions that are taken for the largest where sums do not tell.
const (
	widestLogit = 3   // standard deviation of a logit
	rangeSDs    = 5.0 // standard deviations in the reach of a target's public range
)

// Scale is the largest standard deviation that weights are expected to have by a public schema: with
// it the predictions for expected records have the largest spread.
func Scale(schema *dataset.Schema) float64 {
	spread := float64(widestLogit)
	if schema.Target.Numeric != nil {
		spread = centre.Reach(schema.Target) / rangeSDs
	}
	return spread / recordNorm(schema)
}
