package noise

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
)

// maxVariance is the largest variance parameter, a standard deviation of 2^31. It is
// also the largest numerator and the largest denominator of a rational one.
const maxVariance uint64 = 1 << 62

// The smallest variance parameter is 2^-minShift, for which the probability of zero is
// 1 - exp(-2^31).
const minShift = 32

// ErrVariance reports that a variance parameter is outside the supported range.
var ErrVariance = errors.New("noise: variance outside [2^-32, 2^62], " +
	"or a numerator or denominator above 2^62 in lowest terms")

// variance is the parameter s^2 = num/den in lowest terms.
type variance struct{ num, den uint64 }

// newVariance reduces num/den and checks its range.
func newVariance(num, den uint64) (variance, error) {
	v := variance{num: num, den: den}
	if num == 0 || den == 0 {
		return v, fmt.Errorf("%w: %d/%d", ErrVariance, num, den)
	}
	divisor := gcd(num, den)
	v.num, v.den = num/divisor, den/divisor
	hi, lo := bits.Mul64(v.num, 1<<minShift)
	if v.num > maxVariance || v.den > maxVariance || hi == 0 && lo < v.den {
		return v, fmt.Errorf("%w: %d/%d", ErrVariance, num, den)
	}
	return v, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// root returns floor(sqrt(s^2 / divisor)), which equals the integer root of the integer
// quotient.
func (v variance) root(divisor uint64) uint64 {
	x := new(big.Int).SetUint64(v.num / v.den / divisor)
	return x.Sqrt(x).Uint64()
}
