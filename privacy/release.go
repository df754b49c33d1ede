package privacy

import (
	"math"
	"math/big"
)

// Release is a published integer sum x + Z_1 + ... + Z_k in Z^Dim, as seen by an adversary. Every Z_i
// has independent coordinates from the discrete Gaussian of parameter PartVariance over the integers,
// and the adversary knows none of the Z_i.
type Release struct {
	Sensitivity uint64 // L2 distance of neighbouring x, grid units; at least 1
	// PartVariance is the parameter sigma^2 of one part, with pmf proportional to
	// exp(-z^2 / (2 sigma^2)), in grid units squared; at least 1.
	PartVariance uint64
	Parts        uint32 // number k of independent parts that stay hidden; at least 1
	Dim          uint32 // coordinates; at least 1
}

// Validate returns an error with the name of an invalid field.
func (r Release) Validate() error {
	switch {
	case r.Sensitivity == 0:
		return reject("sensitivity 0: nothing is released")
	case r.PartVariance == 0:
		return reject("part variance 0: no noise hides the sum")
	case r.Parts == 0:
		return reject("parts 0: no noise stays hidden from the adversary")
	case r.Dim == 0:
		return reject("dim 0: the sum has no coordinate")
	}
	return nil
}

// HiddenVariance returns Parts * PartVariance exactly, in grid units squared.
func (r Release) HiddenVariance() *big.Int {
	v := new(big.Int).SetUint64(r.PartVariance)
	return v.Mul(v, big.NewInt(int64(r.Parts)))
}

func rho(sensitivity, variance float64) float64 {
	return up(sensitivity * sensitivity / (2 * variance))
}

// sums describes n such releases.
func (r Release) sums(n float64) sums {
	return sums{float64(r.Sensitivity), float64(r.PartVariance), r.Parts, float64(r.Dim), n}
}

// up rounds a non-negative result of a few floating-point operations up. The factor covers 2^11
// roundings, many more than any caller makes.
func up(x float64) float64 { return x * (1 + 0x1p-41) }

// HiddenParts returns the number of parties whose noise stays hidden from one curious
// party and its colluders in the smallest set that may be revealed,
// N_min - T - 1 ([DCA], Theorem 1). It returns an error if that is not positive.
func HiddenParts(minParties, colluders uint32) (uint32, error) {
	left := int64(minParties) - int64(colluders) - 1
	if left < 1 {
		return 0, reject("N_min - T - 1 = %d leaves no honest noise (N_min = %d, T = %d)",
			left, minParties, colluders)
	}
	return uint32(left), nil
}

// MinDelta is the smallest delta that is accepted. The probability that the sampler fails, 2^-200 a
// sample, must be far below it.
const MinDelta = 1e-40

func validateDelta(delta float64) error {
	if !(delta >= MinDelta && delta < 1) {
		return reject("delta %v is not in [%v, 1)", delta, MinDelta)
	}
	return nil
}

func validateEpsilon(epsilon float64) error {
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return reject("epsilon %v is not positive and finite", epsilon)
	}
	return nil
}
