package defaults

import (
	"cmp"
	"math"

	"choir/learn/pvi"
)

// Rounds of the methods that learn from bare sums.
const (
	GlobalRounds        = 200
	NaturalGlobalRounds = 50
	StatisticsRounds    = 10
)

// RoundsOf is the number of rounds of a strategy for which nothing else follows from the plan.
func RoundsOf(name pvi.StrategyName) int {
	switch name {
	case pvi.NameBCMSame, pvi.NameBCMSplit, pvi.NameAnalytic:
		return 1
	}
	return leastRounds
}

// Slope is how a record's log-likelihood depends on its logit or its prediction: the usual size
// of the derivative, and the mean curvature.
type Slope struct{ Gradient, Curvature float64 }

// Logit is the slope of two classes.
func Logit() Slope { return Slope{0.4, logitCurve} }

// Gaussian is the slope of a number that is observed with the standard deviation sd. The first
// predictions are 0, and the encoded number is about 1 long.
func Gaussian(sd float64) Slope { return Slope{math.Sqrt(1+sd*sd) / (sd * sd), 1 / (sd * sd)} }

// Steps are settings of noisy natural-gradient steps from samples of records.
type Steps struct {
	Steps          int
	Rate           float64 // of a step
	Clip           float64
	SDUnit         float64
	Damping, Decay float64
	Start, Floor   float64 // precisions
}

// StepsSample is the share of the records in a noisy step.
const StepsSample = 0.1

// Share of a step's noise that remains in the mean of many steps, and what sets the floor.
const (
	stepsRate     = 0.1
	stepsKept     = 0.084 // after rounds with the damping below
	onceKept      = 0.22  // after as many steps in one undamped round
	climbKept     = 0.13  // after the rounds of global inference with natural gradients
	logitNoise    = 0.8   // most noise on a logit that the floor leaves
	clipShare     = 1.25  // of a record's usual length
	aboveFloor    = 2
	startShare    = 0.33
	expectedShare = 0.66
	sdShare       = 1.15
)

// Optimisation is the setting for noisy natural-gradient steps by each party alone, on samples of rate
// rate; once is for a committee, whose only round has to go all of the way.
//
// A record's vector is its gradient in the posterior's standard deviations, 1/sqrt(P) with P the
// precision: about Gradient Norm / sqrt(P) long, which the clip follows. The sum has the
// noise Noise Clip / SampleRate, of which the share kept remains in a mean, in units of
// 1/sqrt(P). A logit's noise is therefore kept Gradient Norm^2 Noise / (SampleRate P): the floor
// bounds it, and the unit of the log standard deviations makes their part of a vector as long
// as the means' part.
func (f Facts) Optimisation(like Slope, rate float64, once bool) Steps {
	s := Steps{Steps: 5, Rate: stepsRate, Damping: 0.5, Decay: 0.1}
	if once {
		s.Steps *= 4
		s.Damping = 1
		s.Decay = 0
	}
	f.metric(&s, like, f.floor(like, rate, once))
	return s
}

// widest is the most by which Widened lengthens a clip: to 1.1 times a record's norm, as in global
// inference, where clips hardly move the weights.
const widest = 2.2

// Widened is the clip of a run that reveals the curvature, whose posterior counts the noise but not that
// clips move the weights away from 0. The noise grows with the clip and falls with the signal, and the
// move falls about as the square of the clip, so that both together are least where the clip follows the
// third root of the signal. Three generated worlds of signals from 150 to 1,300 agree.
func (f Facts) Widened(clip float64) float64 {
	return round3(clip * clamp(math.Cbrt(f.signal()/curvatureSignal), 1, widest))
}

// floor is the precision at which the noise on a logit is as large as it may be.
func (f Facts) floor(like Slope, rate float64, once bool) float64 {
	if once {
		return f.keptFloor(like, rate, onceKept)
	}
	return f.keptFloor(like, rate, stepsKept)
}

func (f Facts) keptFloor(like Slope, rate, kept float64) float64 {
	return kept * clipShare * like.Gradient * f.Norm * f.Norm * f.Noise / (rate * logitNoise)
}

// expected is the precision that all records are expected to give a weight.
func (f Facts) expected(like Slope) float64 {
	return like.Curvature * f.Spread * float64(f.AssumedRecords())
}

// Gradients is the setting for steps by another optimiser, whose records' vectors are plain
// gradients. It has no precisions. The moves of all parties add up over the rounds, so that each
// goes its part of the way.
func (f Facts) Gradients(like Slope, once bool) Steps {
	s := f.Optimisation(like, 1, once)
	s.Clip = round3(clipShare * like.Gradient * f.Norm)
	s.Rate = adaptiveRate
	if !once {
		s.Rate = round3(adaptiveRate / float64(max(1, f.Parties)))
	}
	s.SDUnit = 0
	s.Start = 0
	s.Floor = 0
	return s
}

// PlainRate is the rate of a step that is the gradient's length: stable where all columns agree.
func (f Facts) PlainRate(like Slope) float64 {
	curvature := f.prior() + f.expected(like)/float64(max(1, f.Parties))
	return round3(0.5 / (f.Aligned * curvature))
}

// Constants of NetworkSteps.
const (
	networkTravel = 40  // of all steps together, in mean gradients of a record
	networkNoise  = 0.5 // most noise on a logit
	widestClip    = 2.5 // over the usual length of a record's gradient at the start
	startOfRecord = 0.005
	softestStart  = 40
	firmestStart  = 200
)

// NetworkSteps is the setting for a network's steps along the gradients of records, for which no
// metric is known, on samples of rate sample; once is for a committee.
//
// The steps of all parties add up, so that their rate follows all records: together they go
// networkTravel mean gradients, as long as the noise leaves a logit's standard deviation below
// networkNoise. A logit moves by reach Norm times the weights' move, with reach that of the weights
// which a network starts with, and a record's gradient is about Gradient reach Norm long. Longer
// ones are of use where the noise allows a wider clip. A committee's members each go all of the
// way with their own records, and are averaged.
func (f Facts) NetworkSteps(sample float64, once bool) Steps {
	s := Steps{Steps: 5, Damping: 0.3, Decay: 0.05, SDUnit: 0.1, Floor: f.prior()}
	records := float64(f.AssumedRecords())
	noise := f.Noise / sample
	f.Rounds = cmp.Or(f.Rounds, leastRounds)
	if once {
		s.Steps = 20
		s.Damping = 1
		s.Decay = 0
		records /= float64(max(1, f.Parties))
		noise /= float64(max(1, f.Parties))
		f.Rounds = 1
	}
	steps, squares := 0.0, 0.0
	for r := range f.Rounds {
		d := s.Damping / (1 + s.Decay*float64(r))
		steps += d * float64(s.Steps)
		squares += d * d * float64(s.Steps)
	}
	start := f.Network()
	reach := f.Norm * math.Sqrt(float64(start.Hidden)/3) * start.Spread
	length := clipShare * Logit().Gradient * reach
	rate := networkTravel / (steps * records)
	most := networkNoise / max(reach*noise*math.Sqrt(squares), math.SmallestNonzeroFloat32) // rate times clip
	s.Clip = round3(clamp(most/rate, length, widestClip*length))
	s.Rate = round3(min(rate, most/s.Clip))
	s.Start = round3(clamp(startOfRecord*records, softestStart, firmestStart))
	return s
}

// StatisticClip is the clip of a record's natural parameters in linear regression: products of
// columns and target, and of columns, over the observation's variance.
func (f Facts) StatisticClip(noiseSD float64) float64 {
	return round3(f.Norm * math.Sqrt(1+f.Norm*f.Norm/2) / (noiseSD * noiseSD))
}

// MatrixFloor is the least eigenvalue of a precision whose natural parameters have noise of
// standard deviation s in every coordinate: about the norm of the noise, and at least what a
// regression with the slope like needs; see LinearPrecisions.
func (f Facts) MatrixFloor(s float64, like Slope) float64 {
	return round3(max(min(mostRidge*f.prior(), 2*s*f.Norm/math.Sqrt(f.Spread)), f.ridge(s, like)))
}

// metric fills in what is measured in the posterior's standard deviations.
func (f Facts) metric(s *Steps, like Slope, floor float64) {
	expected := f.expected(like)
	s.Floor = round3(min(mostFloor*f.prior(), max(f.prior(), floor)))
	s.Start = round3(max(aboveFloor*s.Floor, startShare*expected))
	at := max(s.Start, expectedShare*expected)
	s.Clip = round3(clipShare * like.Gradient * f.Norm / math.Sqrt(at))
	s.SDUnit = round3(min(1024, max(1, sdShare*math.Sqrt(at))))
}

// Climb is the setting for natural-gradient steps of global inference on samples of rate sample.
func (f Facts) Climb(sample float64) (s Steps, initialSD float64) {
	s = Steps{Rate: 0.2, Decay: 0.1}
	f.metric(&s, Logit(), f.keptFloor(Logit(), sample, climbKept))
	return s, round3(1 / math.Sqrt(s.Start))
}

// Limits of global inference.
const (
	sampledRecords = 20_000 // of all parties, in a round
	leastSample    = 0.02
	adamTravel     = 0.47 // rate times the root of the rounds
	mostRate       = 0.05
	adaptiveRate   = 0.03
)

// GlobalSample is the share of the records in a round: all of them cost least noise, and many
// records need not all be computed.
func (f Facts) GlobalSample() float64 {
	return round3(min(1, max(leastSample, sampledRecords/float64(f.AssumedRecords()))))
}

// GlobalRate is the learning rate of adaptive steps: few rounds have longer ones, so that all of
// them reach as far beyond the noise.
func GlobalRate(rounds int) float64 {
	return round3(min(mostRate, adamTravel/math.Sqrt(float64(rounds))))
}

// Network is what else a network has.
type Network struct {
	Hidden, Samples int
	Spread          float64 // of the means that it starts with
}

// Network is the setting for a network: units as the records stand out from the noise.
func (f Facts) Network() Network {
	return Network{Hidden: int(clamp(math.Sqrt(f.signal()), 5, 20)), Samples: 2, Spread: 0.4}
}
