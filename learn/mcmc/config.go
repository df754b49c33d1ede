package mcmc

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"choir/learn/pvi"
)

// Method names what the rounds after the stages of preparation do.
type Method string

// The methods.
const (
	// Trace infers a Gaussian posterior from batches of ratios, all from one state.
	Trace Method = "trace"
	// Penalty is a random walk under the penalty test: exact but for clipped records.
	Penalty Method = "penalty"
	// Barker is a random walk under Barker's test with a corrected Gaussian ([DP-MCMC]).
	Barker Method = "barker"
	// Langevin is DP-SGLD with the gradient's noise as the Langevin noise.
	Langevin Method = "langevin"
	// HMC is DP-HMC ([RKH21]).
	HMC Method = "hmc"
)

// Methods lists the methods.
func Methods() []Method { return []Method{Trace, Penalty, Barker, Langevin, HMC} }

// Limits of a configuration.
const (
	maxFeatures = 128
	maxKeep     = 1 << 12 // draws in a state
)

// FracBits is the grid of the sums: answers are relative to a query's bound, in units of
// 2^-FracBits.
const FracBits = 20

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad configuration of MCMC")

// Config is everything public that determines a run, other than the data, the plan's
// identity and the noise. All members have the same one, as part of the signed plan.
type Config struct {
	Method         Method  `json:"method"`
	Features       int     `json:"features"`        // columns of a record, including the bias
	PriorPrecision float64 `json:"prior_precision"` // of every weight, around 0

	// ScaleRounds and LocateRounds are the rounds of the first two stages. Trace alone has
	// CurvatureRounds and WarmRounds, which come next, and CurvatureRounds again.
	ScaleRounds     int `json:"scale_rounds"`
	LocateRounds    int `json:"locate_rounds"`
	CurvatureRounds int `json:"curvature_rounds,omitempty"`
	WarmRounds      int `json:"warm_rounds,omitempty"`
	// Radius is the norm to which records are cut while their products are summed. Without
	// ScaleRounds it means the root mean square norm of a record.
	Radius float64 `json:"radius"`
	// Clip bounds a record's gradient, in units of the root mean square norm of a record in
	// the coordinates phi; a ratio's bound is that times the step's length. 0 is what the noise
	// of the plan allows.
	Clip float64 `json:"clip,omitempty"`

	// Chains is K, the number of chains of a walk, at most Features: their orthogonal steps
	// share one clip. Otherwise 1.
	Chains int `json:"chains"`
	// Keep is the number of draws of each chain that the state keeps, evenly thinned from
	// the last Share of the sampler's rounds.
	Keep int `json:"keep"`
	// Rounds is the number of rounds of the plan, by which draws are thinned.
	Rounds int `json:"rounds"`
	// Temper is N0/N: the likelihood enters the posterior to this power. 1 is the posterior.
	Temper float64 `json:"temper"`
	// Step is the length of a step in the coordinates phi, with Langevin the variance of its
	// noise. 0 is the best for the noise of the plan.
	Step float64 `json:"step,omitempty"`
	// Leapfrogs is the number of leapfrog steps of HMC. Otherwise 0.
	Leapfrogs int `json:"leapfrogs,omitempty"`

	// SampleRate is q in (0, 1], the rate of the Poisson sample of each walk's round; 1 is
	// every record. Below 1, SamplingVariance declares the variance that the sample adds to
	// a log ratio; no member knows the true one.
	SampleRate       float64 `json:"sample_rate"`
	SamplingVariance float64 `json:"sampling_variance,omitempty"`

	// Records is the declared number of all parties' records. It determines the clip and
	// the steps; privacy does not depend on it.
	Records    int64 `json:"records"`
	MaxRecords int64 `json:"max_records"` // most records of one party; more are rejected
}

// Validate names every field that is out of range or contradicts another.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
		}
	}
	known := false
	for _, m := range Methods() {
		known = known || m == c.Method
	}
	const range20 = "2^-20 to 2^20"
	sane := func(v float64) bool { return v >= 0x1p-20 && v <= 0x1p20 }
	check(known, "method", c.Method, fmt.Sprintf("one of %v", Methods()))
	check(c.Features >= 1 && c.Features <= maxFeatures, "features", c.Features,
		fmt.Sprintf("1 to %d", maxFeatures))
	check(sane(c.PriorPrecision), "prior_precision", c.PriorPrecision, range20)
	check(sane(c.Radius), "radius", c.Radius, range20)
	check(c.Clip == 0 || c.Clip >= 0x1p-6 && c.Clip <= 0x1p10, "clip", c.Clip, "0 or 2^-6 to 2^10")
	check(c.Temper >= 0x1p-20 && c.Temper <= 1, "temper", c.Temper, "2^-20 to 1")
	check(c.Step == 0 || sane(c.Step), "step", c.Step, "0 or "+range20)
	check(c.Keep >= 2 && c.Keep*max(1, c.Chains) <= maxKeep, "keep", c.Keep,
		fmt.Sprintf("2 to %d over all chains", maxKeep))
	check(c.Records >= 1 && c.Records <= 1<<40, "records", c.Records, "1 to 2^40")
	check(c.MaxRecords >= 1 && c.MaxRecords <= 1<<22, "max_records", c.MaxRecords, "1 to 2^22")
	c.checkStages(check)
	c.checkMethod(check)
	return errors.Join(errs...)
}

type checkField func(ok bool, field string, value any, want string)

func (c Config) checkStages(check checkField) {
	check(c.Rounds >= 1 && c.Rounds <= pvi.MaxRounds, "rounds", c.Rounds, fmt.Sprintf("1 to %d", pvi.MaxRounds))
	check(c.ScaleRounds >= 0, "scale_rounds", c.ScaleRounds, "0 or more")
	check(c.LocateRounds >= 0, "locate_rounds", c.LocateRounds, "0 or more")
	if c.Method == Trace {
		check(c.CurvatureRounds >= 1, "curvature_rounds", c.CurvatureRounds, `1 or more with method "trace"`)
		check(c.WarmRounds >= 2 && c.WarmRounds%2 == 0, "warm_rounds", c.WarmRounds,
			`even and 2 or more with method "trace"`)
	} else {
		check(c.CurvatureRounds == 0 && c.WarmRounds == 0, "curvature_rounds, warm_rounds",
			fmt.Sprint(c.CurvatureRounds, c.WarmRounds), fmt.Sprintf("0 with method %q", c.Method))
	}
	check(c.Rounds-c.prepared() >= c.period(), "rounds", c.Rounds,
		fmt.Sprintf("at least %d: the stages take %d and the method %d at a time", c.prepared()+c.period(),
			c.prepared(), c.period()))
}

func (c Config) checkMethod(check checkField) {
	walk := c.Method == Penalty || c.Method == Barker
	if walk {
		check(c.Chains >= 1 && c.Chains <= c.Features, "chains", c.Chains,
			"1 to the number of features: the steps of a round are orthogonal")
	} else {
		check(c.Chains == 1, "chains", c.Chains, fmt.Sprintf("1 with method %q", c.Method))
		check(c.SampleRate == 1, "sample_rate", c.SampleRate, fmt.Sprintf("1 with method %q", c.Method))
	}
	check(c.SampleRate >= 0x1p-20 && c.SampleRate <= 1, "sample_rate", c.SampleRate, "2^-20 to 1")
	if c.SampleRate < 1 {
		check(c.ScaleRounds == 0 && c.LocateRounds == 0, "sample_rate", c.SampleRate,
			"1 with scale_rounds or locate_rounds: a plan has one rate for all its rounds")
		check(c.SamplingVariance > 0 && c.SamplingVariance < barkerVariance, "sampling_variance",
			c.SamplingVariance, "above 0 and below 2 with a sample_rate below 1")
	} else {
		check(c.SamplingVariance == 0, "sampling_variance", c.SamplingVariance, "0 without sampling")
	}
	if c.Method == HMC {
		check(c.Leapfrogs >= 1 && c.Leapfrogs <= 1000, "leapfrogs", c.Leapfrogs, `1 to 1000 with method "hmc"`)
	} else {
		check(c.Leapfrogs == 0, "leapfrogs", c.Leapfrogs, fmt.Sprintf("0 with method %q", c.Method))
	}
	check(c.Method != Trace || c.Temper == 1, "temper", c.Temper, `1 with method "trace"`)
}

// stage is a part of a run, with the rounds of each in this order.
type stage int

const (
	scaling stage = iota
	locating
	bending // the curvature's rounds
	warming
	rebending
	sampling
)

// stageOf is the stage of the next round and how many of its rounds are done.
func (c Config) stageOf(folded int64) (stage, int) {
	left := int(folded)
	for st, n := range []int{c.ScaleRounds, c.LocateRounds, c.CurvatureRounds, c.WarmRounds, c.CurvatureRounds} {
		if left < n {
			return stage(st), left
		}
		left -= n
	}
	return sampling, left
}

// prepared is the number of rounds before those whose draws count.
func (c Config) prepared() int {
	return c.ScaleRounds + c.LocateRounds + 2*c.CurvatureRounds + c.WarmRounds
}

// period is the number of rounds that belong together: antithetic pairs with Trace, an
// iteration with HMC.
func (c Config) period() int {
	switch c.Method {
	case Trace:
		return 2
	case HMC:
		return c.Leapfrogs + 2
	}
	return 1
}

// products is the number of different products of two features.
func (c Config) products() int { return c.Features * (c.Features + 1) / 2 }

// Dim is the length of a party's sum. Answers that are shorter are at its beginning.
func (c Config) Dim() int {
	if c.ScaleRounds > 0 || c.CurvatureRounds > 0 {
		return c.products()
	}
	if c.Method == Penalty || c.Method == Barker {
		if c.LocateRounds == 0 {
			return c.Chains
		}
	}
	return c.Features
}

// intClip is B, the L2 bound of a record's gradients and ratios in units of 2^-FracBits.
const intClip = 1 << FracBits

// The weights of squares and of other products, see package stats.
const (
	onDiagonal  = 5
	offDiagonal = 7
)

// intRadius is the largest R with ceil(sqrt(50) R^2) <= 2B: the integer norm of a vector
// whose products are summed. 50 R^4 <= 4 B^2 is tested on integers.
func intRadius() uint64 {
	r := uint64(0)
	for step := uint64(1) << (FracBits / 2); step > 0; step >>= 1 {
		next := r + step
		hi, lo := bits.Mul64(next*next, next*next)
		if hi == 0 && lo <= (4*intClip*intClip)/50 {
			r = next
		}
	}
	return r
}

// sensitivity is 2B: it bounds the L2 distance, in units of 2^-FracBits, of the sums of two
// data sets that differ in one record, in every round and given everything public before it.
// A record's gradient or vector of ratios is a function of the record and of the public
// query only, and is clipped to B on integers after it was rounded. Products of a vector of
// integer norm at most R, weighted 5 and 7, move by at most ceil(sqrt(50) R^2)
// (stats.Config.Sensitivity has the proof), and intRadius keeps that at or below 2B. With
// sampling both neighbours' record is drawn or neither, and the distance is 2B or 0.
func (c Config) sensitivity() uint64 { return 2 * intClip }

// termBound bounds the norm of one answer: B, and for products 5 R^2, since 24.5 |zz'|^2 +
// 0.5 sum z_i^4 <= 25 |z|^4.
func (c Config) termBound() uint64 { return max(intClip, onDiagonal*intRadius()*intRadius()) }

// Mechanism returns what a round of any stage releases: the sum over all parties, with
// joint noise.
func (c Config) Mechanism() (pvi.Mechanism, error) {
	if err := c.Validate(); err != nil {
		return pvi.Mechanism{}, err
	}
	m := pvi.Mechanism{Clip: c.termBound(), Sensitivity: c.sensitivity(), Dim: c.Dim(), Steps: 1,
		PerParty: uint64(c.MaxRecords) * c.termBound()}
	if c.SampleRate < 1 {
		m.Sampling, m.SampleRate = pvi.SamplingPoisson, c.SampleRate
	}
	return m, nil
}

// bound is the clip of a record's gradient in the coordinates phi.
func (c Config) bound() float64 { return float64(c.Clip * c.norm()) }

// fitting is the clip for a variance of the noise: a tighter one adds less noise, and a wider one leaves
// more of what records tell. With Trace the clip moves nothing (Query.even). With other methods a tight clip
// moves the posterior by a multiple of the root of the number of records, which no posterior counts.
func (c Config) fitting(variance float64) float64 {
	noise := float64(c.Temper*math.Ldexp(c.norm(), -FracBits)) *
		math.Sqrt(variance/float64(c.Rounds-c.prepared())) / c.SampleRate
	least, times := 1.15, 0.685
	if c.Method == Trace {
		least, times = leastClip, 0.5
	}
	return min(3, max(least, times/math.Sqrt(noise+0x1p-20)))
}

// leastClip is the default clip of Trace under much noise.
const leastClip = 0.65

// norm bounds the root mean square norm of a record in the coordinates phi, whose metric is at least
// Temper X'X/4.
func (c Config) norm() float64 {
	return 2 * math.Sqrt(float64(c.Features)/float64(c.Temper*float64(c.Records)))
}
