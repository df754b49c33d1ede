package privacy

import (
	"fmt"
	"math"

	"choir/privacy/pld"
)

// Target describes releases and the budget that their noise must meet. Each attempt of a round counts
// as a release.
type Target struct {
	Epsilon     float64 // budget, > 0
	Delta       float64 // in [MinDelta, 1)
	Sensitivity uint64  // L2 distance of neighbouring sums, grid units (Relation.Sensitivity)
	Dim         uint32  // coordinates of a sum
	Releases    uint32  // sums released in total, spare attempts included
	Parts       uint32  // independent noise parts that stay hidden (HiddenParts)

	Sampling Sampling // how records are sampled for a release
	Rate     float64  // sampling rate in (0, 1]; 0 with SamplingNone
	Relation Relation // the bound for sampling depends on it; 0 means ReplaceOne
}

// Noise is the noise that meets a target.
type Noise struct {
	// PartVariance is the discrete Gaussian parameter sigma_i^2 of each part, in grid units squared:
	// the least integer that meets the target.
	PartVariance uint64
	Epsilon      float64 // upper bound for all releases with this noise, at most that of the target
	Method       string  // the argument that proves Epsilon
}

// maxPartVariance is the largest parameter that a plan allows.
const maxPartVariance = 1 << 62

// validate returns an error with the name of an invalid field.
func (t Target) validate() error {
	if err := validateEpsilon(t.Epsilon); err != nil {
		return err
	}
	if err := validateDelta(t.Delta); err != nil {
		return err
	}
	if t.Releases == 0 {
		return reject("releases 0: nothing to hide")
	}
	return t.release(1).validate()
}

// relation returns the relation with the default filled in.
func (t Target) relation() Relation {
	if t.Relation == 0 {
		return ReplaceOne
	}
	return t.Relation
}

func (t Target) release(v uint64) SampledRelease {
	return SampledRelease{
		Release:  Release{Sensitivity: t.Sensitivity, PartVariance: v, Parts: t.Parts, Dim: t.Dim},
		Sampling: t.Sampling, Rate: t.Rate, Count: int(t.Releases),
	}
}

// spends returns the bound for all releases with variance v, infinite if none is proven.
func (t Target) spends(v uint64) Bound {
	b, err := Spent([]SampledRelease{t.release(v)}, t.relation(), t.Delta, PlanPrecision())
	if err != nil {
		return Bound{Epsilon: math.Inf(1)}
	}
	return b
}

// PlanPrecision returns the precision at which the losses of sampled rounds are computed for the claim
// of a plan and for the sum of a ledger, which must agree exactly.
func PlanPrecision() pld.Precision { return pld.Precision{Cells: 80, MaxBits: 18} }

// leastSampled bisects the variance to one part in a thousand. With sampling each bound takes a tenth
// of a second.
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

// Calibrate returns the least integer variance per part with which all releases
// together stay within (Epsilon, Delta). It follows [DCA], Theorem 1
// (sigma_i^2 >= sigma^2 / (N_min - T - 1)), with the bound for integer noise in
// place of the continuous Gaussian. The bound has been computed for the variance that it returns. It
// returns ErrUnreachable if no variance in range meets the target.
func Calibrate(t Target) (Noise, error) {
	if err := t.validate(); err != nil {
		return Noise{}, err
	}
	lo, hi := t.bracket()
	if !(t.spends(hi).Epsilon <= t.Epsilon) {
		return Noise{}, fmt.Errorf("%w: epsilon %v at delta %v over %d releases of sensitivity %d "+
			"needs a variance above %d per part; fewer rounds, more parties or a larger epsilon need less",
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

// bracket starts with the variance of the continuous Gaussian, below which integer noise is not
// expected to suffice, and doubles it until the target is met or the range ends.
func (t Target) bracket() (lo, hi uint64) {
	mu, err := GaussianMu(t.Epsilon, t.Delta)
	guess := 1.0
	if err == nil && mu > 0 {
		d := float64(t.Sensitivity) / mu
		guess = d * d * float64(t.Releases) / float64(t.Parts)
	}
	lo = uint64(min(max(1, guess*0.9), maxPartVariance))
	if t.Sampling != SamplingNone {
		// Sampling reduces the cost of a release, at best like rate^2 of the variance.
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
