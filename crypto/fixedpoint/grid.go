package fixedpoint

import (
	"errors"
	"fmt"
	"math"
)

// MaxFracBits is the finest grid: 2^-52, a float64's precision at 1.
const MaxFracBits = 52

// limit is what grid values stay below in magnitude: 2^62. It leaves a factor of two
// for noise before the field ends.
const limit = 1 << 62

var (
	// ErrGrid says that a grid is finer than [MaxFracBits].
	ErrGrid = errors.New("fixedpoint: more than 52 fraction bits")

	// ErrLength says that two vectors differ in length.
	ErrLength = errors.New("fixedpoint: vectors of different length")

	// ErrNotFinite says that a value is NaN or infinite.
	ErrNotFinite = errors.New("fixedpoint: value is not finite")

	// ErrRange says that a value is too large in magnitude, or a bound negative.
	ErrRange = errors.New("fixedpoint: value out of range")
)

// Grid is the set of multiples of 2^-FracBits. The zero value is the integers.
type Grid struct {
	FracBits uint8 // 0 to 52
}

// Validate refuses a grid finer than [MaxFracBits] with [ErrGrid].
func (g Grid) Validate() error {
	if g.FracBits > MaxFracBits {
		return fmt.Errorf("%w: %d", ErrGrid, g.FracBits)
	}
	return nil
}

// Resolution returns 2^-FracBits, the distance between neighbours on the grid.
func (g Grid) Resolution() float64 {
	return math.Ldexp(1, -int(g.FracBits))
}

// Round sets dst to x in units of the grid, each coordinate rounded to the nearest
// integer, ties to even. It refuses NaN and infinities ([ErrNotFinite]) and
// |x[i] * 2^f| >= 2^62 ([ErrRange]), naming the first such coordinate; dst is zero then.
func (g Grid) Round(dst []int64, x []float64) error {
	return g.round(dst, x, new(Squares))
}

// round is Round, and takes the result's norm, each run of it while it is in the nearest cache.
func (g Grid) round(dst []int64, x []float64, norm *Squares) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if len(dst) != len(x) {
		return fmt.Errorf("%w: %d and %d", ErrLength, len(dst), len(x))
	}
	scale := g.scale(1)
	for at := 0; at < len(x); at += run {
		to, from := dst[at:min(at+run, len(x))], x[at:min(at+run, len(x))]
		if squares, ok := roundNear(to, from, scale); ok {
			norm.AddSum(squares)
			continue
		}
		if !roundSmall(to, from, scale) {
			if i, err := g.roundAny(to, from); err != nil {
				clear(dst)
				return fmt.Errorf("coordinate %d: %w", at+i, err)
			}
		}
		norm.Add(to)
	}
	return nil
}

// roundNear rounds a run of products as roundSmall does, and takes the sum of the results'
// squares in the same pass. It is not ok, and both are of no meaning, unless all results are
// from -2^small to 2^small - 1, and so the sum below 2^64: what roundSmall can't round gives a
// difference of 2^51 at least.
func roundNear(dst []int64, x []float64, scale float64) (squares uint64, ok bool) {
	const half = 1 << small
	none := math.Float64bits(beside)
	n, squares, moved := roundSquares(dst, x, scale)
	for dst = dst[:len(x)]; n < len(x); n++ {
		a := besides(x[n]*scale) - none
		dst[n] = int64(a)
		moved |= a + half
		squares += a * a
	}
	return squares, moved < 2*half
}

// roundSquaresGo rounds from the front of x, as many as it likes. moved is the OR of all
// results + 2^small.
func roundSquaresGo(dst []int64, x []float64, scale float64) (n int, squares, moved uint64) {
	const half = 1 << small
	none := math.Float64bits(beside)
	for len(x)-n >= 4 && len(dst)-n >= 4 {
		four, to := (*[4]float64)(x[n:]), (*[4]int64)(dst[n:])
		a, b := besides(four[0]*scale)-none, besides(four[1]*scale)-none
		c, d := besides(four[2]*scale)-none, besides(four[3]*scale)-none
		to[0], to[1], to[2], to[3] = int64(a), int64(b), int64(c), int64(d)
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		squares += a*a + b*b + c*c + d*d
		n += 4
	}
	return n, squares, moved
}

// roundAny rounds products of any size, up to the first coordinate that it refuses.
func (g Grid) roundAny(dst []int64, x []float64) (refused int, err error) {
	for i, v := range x {
		if err := g.check(v); err != nil {
			return i, err
		}
		dst[i] = int64(math.RoundToEven(g.scale(v)))
	}
	return 0, nil
}

// exact is a magnitude: what is one unit below it or less, roundSmall rounds.
const exact = 1 << 51

// roundSmall rounds products, ties to even, and tells whether it could: some beyond exact -
// 1 in magnitude it can't, and dst is of no meaning then. Beside 3·2^51 a float64 has no
// room for a fraction: the sum is rounded to an integer as the standard (IEEE 754) says, to
// an even one in a tie since 3·2^51 is even, and its last bits are the integer, as long as
// its sign and exponent are those of 3·2^51.
func roundSmall(dst []int64, x []float64, scale float64) (small bool) {
	none := math.Float64bits(beside)
	var other uint64 // where sums' bits differ from none's
	dst = dst[:len(x)]
	for len(x) >= 4 && len(dst) >= 4 { // a product is exact, as scale says
		four, to := (*[4]float64)(x), (*[4]int64)(dst)
		a, b := besides(four[0]*scale), besides(four[1]*scale)
		c, d := besides(four[2]*scale), besides(four[3]*scale)
		to[0], to[1], to[2], to[3] = int64(a-none), int64(b-none), int64(c-none), int64(d-none)
		other |= (a ^ none) | (b ^ none) | (c ^ none) | (d ^ none)
		x, dst = x[4:], dst[4:]
	}
	for i, v := range x {
		a := besides(v * scale)
		dst[i] = int64(a - none)
		other |= a ^ none
	}
	return other>>52 == 0
}

const beside = 3 << 51

// besides returns the bits of x + 3·2^51. The conversion forbids fusing the sum with the
// product that x is.
func besides(x float64) uint64 { return math.Float64bits(float64(x) + beside) }

// Float sets dst to the reals that the grid values v stand for, each rounded once
// to the nearest float64 (exact below 2^53). It panics if the lengths differ.
func (g Grid) Float(dst []float64, v []int64) {
	if len(dst) != len(v) {
		panic("fixedpoint: Float of vectors of different length")
	}
	for i, n := range v {
		dst[i] = math.Ldexp(float64(n), -int(g.FracBits))
	}
}

// IntBound returns floor(c * 2^f), exactly: the largest integer bound that doesn't
// exceed the real bound c. It refuses c that is NaN or infinite ([ErrNotFinite]),
// negative, or 2^62 and more in units of the grid ([ErrRange]).
func (g Grid) IntBound(c float64) (uint64, error) {
	if err := g.Validate(); err != nil {
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

// scale returns v * 2^f. Multiplying by a power of two that isn't below 1 is exact,
// for subnormal v too, unless the product overflows to infinity.
func (g Grid) scale(v float64) float64 {
	return v * float64(uint64(1)<<g.FracBits)
}

// check tells whether v is finite and below the limit in units of the grid.
func (g Grid) check(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return ErrNotFinite
	case math.Abs(g.scale(v)) >= limit:
		return fmt.Errorf("%w: 2^62 units of 2^-%d or more", ErrRange, g.FracBits)
	}
	return nil
}
