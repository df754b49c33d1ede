package fixedpoint

import (
	"errors"
	"fmt"
	"math"
)

// MaxFracBits is the largest number of fraction bits: 2^-52 is the precision of float64 at 1.
const MaxFracBits = 52

// limit bounds the magnitude of grid values. It leaves a factor of two for noise within the range
// of the field.
const limit = 1 << 62

var (
	// ErrGrid reports that a grid has more than [MaxFracBits] fraction bits.
	ErrGrid = errors.New("fixedpoint: more than 52 fraction bits")

	// ErrLength reports that two vectors differ in length.
	ErrLength = errors.New("fixedpoint: vectors of different length")

	// ErrNotFinite reports that a value is NaN or infinite.
	ErrNotFinite = errors.New("fixedpoint: value is not finite")

	// ErrRange reports that the magnitude of a value is too large, or that a bound is negative.
	ErrRange = errors.New("fixedpoint: value out of range")
)

// Grid is the set of multiples of 2^-FracBits. The zero value is the integers.
type Grid struct {
	FracBits uint8 // 0 to 52
}

// validate returns [ErrGrid] if FracBits is above [MaxFracBits].
func (g Grid) validate() error {
	if g.FracBits > MaxFracBits {
		return fmt.Errorf("%w: %d", ErrGrid, g.FracBits)
	}
	return nil
}

// Round sets dst to x in units of the grid, each coordinate rounded to the nearest integer, ties to
// even. It rejects NaN and infinities ([ErrNotFinite]) and |x[i] * 2^f| >= 2^62 ([ErrRange]) with
// the index of the first such coordinate, and dst is zero then.
func (g Grid) Round(dst []int64, x []float64) error {
	return g.round(dst, x, new(Squares))
}

// round is Round. It also adds the squares of the result to norm, one run at a time while the
// run is in the first-level cache.
func (g Grid) round(dst []int64, x []float64, norm *Squares) error {
	if err := g.validate(); err != nil {
		return err
	}
	if len(dst) != len(x) {
		return fmt.Errorf("%w: %d and %d", ErrLength, len(dst), len(x))
	}
	scale := g.scale(1)
	for start := 0; start < len(x); start += run {
		end := min(start+run, len(x))
		to, from := dst[start:end], x[start:end]
		if squares, ok := roundNear(to, from, scale); ok {
			norm.AddSum(squares)
			continue
		}
		if !roundSmall(to, from, scale) {
			if i, err := g.roundAny(to, from); err != nil {
				clear(dst)
				return fmt.Errorf("coordinate %d: %w", start+i, err)
			}
		}
		norm.Add(to)
	}
	return nil
}

// roundNear is roundSmall for results in [-2^small, 2^small), and also returns the sum of their
// squares, in a single pass. It is not ok, with dst and the sum undefined, if another result occurs:
// a product that roundSmall cannot round gives a difference of at least 2^51.
func roundNear(dst []int64, x []float64, scale float64) (squares uint64, ok bool) {
	const half = 1 << small
	base := math.Float64bits(shifter)
	var moved uint64 // the OR of all results + half
	dst = dst[:len(x)]
	for len(x) >= 4 && len(dst) >= 4 {
		four, to := (*[4]float64)(x), (*[4]int64)(dst)
		a, b := shifted(four[0]*scale)-base, shifted(four[1]*scale)-base
		c, d := shifted(four[2]*scale)-base, shifted(four[3]*scale)-base
		to[0], to[1], to[2], to[3] = int64(a), int64(b), int64(c), int64(d)
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		squares += a*a + b*b + c*c + d*d
		x, dst = x[4:], dst[4:]
	}
	for i, v := range x {
		a := shifted(v*scale) - base
		dst[i] = int64(a)
		moved |= a + half
		squares += a * a
	}
	return squares, moved < 2*half
}

// roundAny rounds products of any magnitude. It stops at the first coordinate that it rejects and
// returns its index.
func (g Grid) roundAny(dst []int64, x []float64) (rejected int, err error) {
	for i, v := range x {
		if err := g.check(v); err != nil {
			return i, err
		}
		dst[i] = int64(math.RoundToEven(g.scale(v)))
	}
	return 0, nil
}

// exact bounds the products that roundSmall rounds: their magnitude is at most exact - 1.
const exact = 1 << 51

// shifter is 3·2^51. The float64 numbers around it are integers.
const shifter = 3 << 51

// roundSmall rounds the products x[i]·scale to the nearest integer, ties to even, and reports
// whether it could. If the magnitude of a product exceeds exact - 1, dst is undefined.
//
// The sum of a product and 3·2^51 is rounded to an integer, since a float64 of that magnitude
// has no fraction bits; in a tie to an even one (IEEE 754), since 3·2^51 is even. The low bits of
// the sum are the integer, provided that its sign and exponent are those of 3·2^51.
func roundSmall(dst []int64, x []float64, scale float64) (small bool) {
	base := math.Float64bits(shifter)
	var other uint64 // the bits in which a sum differs from base
	dst = dst[:len(x)]
	for len(x) >= 4 && len(dst) >= 4 { // the products are exact: see scale
		four, to := (*[4]float64)(x), (*[4]int64)(dst)
		a, b := shifted(four[0]*scale), shifted(four[1]*scale)
		c, d := shifted(four[2]*scale), shifted(four[3]*scale)
		to[0], to[1], to[2], to[3] = int64(a-base), int64(b-base), int64(c-base), int64(d-base)
		other |= (a ^ base) | (b ^ base) | (c ^ base) | (d ^ base)
		x, dst = x[4:], dst[4:]
	}
	for i, v := range x {
		a := shifted(v * scale)
		dst[i] = int64(a - base)
		other |= a ^ base
	}
	return other>>52 == 0
}

// shifted returns the bits of x + 3·2^51. The conversion prevents the compiler from fusing the
// sum with the product that x is.
func shifted(x float64) uint64 { return math.Float64bits(float64(x) + shifter) }

// Float sets dst to the reals that the grid values v represent, each rounded once to the
// nearest float64 (exact below 2^53). It panics if the lengths differ.
func (g Grid) Float(dst []float64, v []int64) {
	if len(dst) != len(v) {
		panic("fixedpoint: Float of vectors of different length")
	}
	for i, n := range v {
		dst[i] = math.Ldexp(float64(n), -int(g.FracBits))
	}
}

// IntBound returns floor(c * 2^f), exactly: the largest integer bound that does not
// exceed the real bound c. It returns [ErrNotFinite] if c is NaN or infinite, and [ErrRange] if c is
// negative, or 2^62 or more in units of the grid.
func (g Grid) IntBound(c float64) (uint64, error) {
	if err := g.validate(); err != nil {
		return 0, err
	}
	if err := g.check(c); err != nil {
		return 0, fmt.Errorf("bound: %w", err)
	}
	if c < 0 {
		return 0, fmt.Errorf("bound: %w: negative", ErrRange)
	}
	return uint64(math.Floor(g.scale(c))), nil
}

// scale returns v * 2^f. The product with a power of two of at least 1 is exact, also for
// subnormal v, unless it overflows to infinity.
func (g Grid) scale(v float64) float64 {
	return v * float64(uint64(1)<<g.FracBits)
}

// check returns an error unless v is finite and below the limit in units of the grid.
func (g Grid) check(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return ErrNotFinite
	case math.Abs(g.scale(v)) >= limit:
		return fmt.Errorf("%w: 2^62 units of 2^-%d or more", ErrRange, g.FracBits)
	}
	return nil
}
