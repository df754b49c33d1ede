package privacy

import (
	"math"
	"math/big"
)

// Release is one published integer sum, seen by one adversary: x + Z_1 + ... + Z_k
// in Z^Dim, where every Z_i has independent coordinates from the discrete Gaussian
// of parameter PartVariance over the integers and none of the Z_i is known to the adversary.
type Release struct {
	Sensitivity  uint64 // L2 distance of neighbouring x, grid units; at least 1
	PartVariance uint64 // sigma^2 of one part: pmf proportional to exp(-z^2 / (2 sigma^2)), grid units squared; at least 1
	Parts        uint32 // number k of independent parts that stay hidden; at least 1
	Dim          uint32 // coordinates; at least 1
}

// Validate names the field that makes the release meaningless.
func (r Release) Validate() error {
	switch {
	case r.Sensitivity == 0:
		return refuse("sensitivity 0: nothing is released")
	case r.PartVariance == 0:
		return refuse("part variance 0: no noise hides the sum")
	case r.Parts == 0:
		return refuse("parts 0: no noise stays hidden from the adversary")
	case r.Dim == 0:
		return refuse("dim 0: the sum has no coordinate")
	}
	return nil
}

// HiddenVariance is Parts * PartVariance, exactly, in grid units squared.
func (r Release) HiddenVariance() *big.Int {
	v := new(big.Int).SetUint64(r.PartVariance)
	return v.Mul(v, big.NewInt(int64(r.Parts)))
}

// variance is HiddenVariance as a float, within one part in 2^52.
func (r Release) variance() float64 { return float64(r.PartVariance) * float64(r.Parts) }

// Rho is Sensitivity^2 / (2 HiddenVariance), rounded up: the zCDP parameter of the
// Gaussian of the same variance, and of one discrete Gaussian (Canonne, Kamath and
// Steinke 2020, Theorem 4; in any dimension, since integer shifts compose over
// coordinates). For more than one part the sum's deviation from a single discrete
// Gaussian comes on top: see Epsilon.
func (r Release) Rho() float64 { return rho(float64(r.Sensitivity), r.variance()) }

func rho(sensitivity, variance float64) float64 {
	return up(sensitivity * sensitivity / (2 * variance))
}

// sums is n such releases, for the bounds.
func (r Release) sums(n float64) sums {
	return sums{float64(r.Sensitivity), float64(r.PartVariance), r.Parts, float64(r.Dim), n}
}

// up moves a non-negative result of a few floating-point operations outward: its
// factor covers 2^11 roundings, far more than any caller made.
func up(x float64) float64 { return x * (1 + 0x1p-41) }

// HiddenParts is the number of parties whose noise stays hidden from one curious
// party and its colluders in the smallest set that may be revealed,
// N_min - T - 1 (Paper I, Theorem 1), refusing what leaves none.
func HiddenParts(minParties, colluders uint32) (uint32, error) {
	left := int64(minParties) - int64(colluders) - 1
	if left < 1 {
		return 0, refuse("N_min - T - 1 = %d leaves no honest noise (N_min = %d, T = %d)", left, minParties, colluders)
	}
	return uint32(left), nil
}

// MinDelta is the smallest delta that is accounted for: the samplers' own limit, at which they
// give up with a probability of 2^-200 a sample, must stay far below it.
const MinDelta = 1e-40

func validateDelta(delta float64) error {
	if !(delta >= MinDelta && delta < 1) {
		return refuse("delta %v isn't in [%v, 1)", delta, MinDelta)
	}
	return nil
}

func validateEpsilon(epsilon float64) error {
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return refuse("epsilon %v isn't positive and finite", epsilon)
	}
	return nil
}
