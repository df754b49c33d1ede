package privacy

import (
	"fmt"
	"math"

	"choir/privacy/pld"
)

// Target asks for noise. Rounds that may be noised anew count once per attempt.
type Target struct {
	Epsilon     float64 // budget, > 0
	Delta       float64 // in [MinDelta, 1)
	Sensitivity uint64  // L2 distance of neighbouring sums, grid units (Relation.Sensitivity)
	Dim         uint32  // coordinates of a sum
	Releases    uint32  // sums released in total, spare attempts included
	Parts       uint32  // independent parts that stay hidden (HiddenParts)

	Sampling Sampling // how records enter a release
	Rate     float64  // sampling rate in (0, 1]; 0 with SamplingNone
	Relation Relation // needed with a sampling, whose bound depends on it; 0 is read as ReplaceOne
}

// Noise is what a target needs.
type Noise struct {
	PartVariance uint64  // discrete Gaussian parameter sigma_i^2 of each part, grid units squared: the least integer that meets the target
	Epsilon      float64 // what all releases spend with it: a true upper bound, <= the target's
	Method       string  // the argument that proves Epsilon
}

// maxPartVariance is the largest parameter that plans allow.
const maxPartVariance = 1 << 62

// Validate names the impossible field.
func (t Target) Validate() error {
	if err := validateEpsilon(t.Epsilon); err != nil {
		return err
	}
	if err := validateDelta(t.Delta); err != nil {
		return err
	}
	if t.Releases == 0 {
		return refuse("releases 0: nothing to hide")
	}
	return t.release(1).Validate()
}

// relation spells the default out.
func (t Target) relation() Relation {
	if t.Relation == 0 {
		return ReplaceOne
	}
	return t.Relation
}

func (t Target) release(v uint64) SampledRelease {
	return SampledRelease{Release: Release{Sensitivity: t.Sensitivity, PartVariance: v, Parts: t.Parts, Dim: t.Dim},
		Sampling: t.Sampling, Rate: t.Rate, Count: int(t.Releases)}
}

// spends is infinite where no bound is proven.
func (t Target) spends(v uint64) Bound {
	b, err := Spent([]SampledRelease{t.release(v)}, t.relation(), t.Delta, PlanPrecision())
	if err != nil {
		return Bound{Epsilon: math.Inf(1)}
	}
	return b
}

// PlanPrecision is how finely the losses of sampled rounds are computed where a plan's
// claim is set and checked and where a ledger is added up: all must come to the same number.
func PlanPrecision() pld.Precision { return pld.Precision{Cells: 80, MaxBits: 18} }

// leastSampled narrows the search where one bound takes a tenth of a second: to one part in
// a thousand of the variance.
func (t Target) leastSampled(lo, hi uint64) uint64 {
	for float64(hi-lo) > 1e-3*float64(hi) {
		mid := lo + (hi-lo)/2
		if t.spends(mid).Epsilon <= t.Epsilon {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Calibrate finds the least integer variance per part with which all releases
// together stay within (Epsilon, Delta), following Paper I, Theorem 1
// (sigma_i^2 >= sigma^2 / (N_min - T - 1)) with the proven bound for integer noise in
// the place of the continuous Gaussian's. The result has been accounted, not inferred.
func Calibrate(t Target) (Noise, error) {
	if err := t.Validate(); err != nil {
		return Noise{}, err
	}
	lo, hi := t.bracket()
	if !(t.spends(hi).Epsilon <= t.Epsilon) {
		return Noise{}, fmt.Errorf("%w: epsilon %v at delta %v over %d releases of sensitivity %d needs a variance above %d per part",
			ErrUnreachable, t.Epsilon, t.Delta, t.Releases, t.Sensitivity, hi)
	}
	if t.Sampling != SamplingNone {
		lo = t.leastSampled(lo, hi)
		hi = lo
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		if t.spends(mid).Epsilon <= t.Epsilon {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	b := t.spends(hi)
	return Noise{PartVariance: hi, Epsilon: b.Epsilon, Method: b.Method}, nil
}

// bracket starts from the continuous Gaussian's variance, from below which no integer
// noise is expected to do, and doubles until the target is met or the range ends.
func (t Target) bracket() (lo, hi uint64) {
	mu, err := GaussianMu(t.Epsilon, t.Delta)
	guess := 1.0
	if err == nil && mu > 0 {
		d := float64(t.Sensitivity) / mu
		guess = d * d * float64(t.Releases) / float64(t.Parts)
	}
	lo = uint64(min(max(1, guess*0.9), maxPartVariance))
	if t.Sampling != SamplingNone {
		// Sampling makes a release cost less, never more: at best like rate^2 of the variance.
		lo = uint64(max(1, float64(lo)*t.Rate*t.Rate/16))
		for hi = lo; hi < maxPartVariance/4; hi *= 4 {
			if t.spends(hi).Epsilon <= t.Epsilon {
				return max(1, hi/4), hi
			}
		}
		return lo, maxPartVariance
	}
	if t.spends(lo).Epsilon <= t.Epsilon {
		lo = 1
	}
	for hi = uint64(min(max(1, math.Ceil(guess)), maxPartVariance)); hi < maxPartVariance; hi *= 2 {
		if t.spends(hi).Epsilon <= t.Epsilon {
			return lo, hi
		}
	}
	return lo, maxPartVariance
}
