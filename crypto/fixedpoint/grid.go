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
// |x[i] * 2^f| >= 2^62 ([ErrRange]), naming the first such coordinate.
func (g Grid) Round(dst []int64, x []float64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if len(dst) != len(x) {
		return fmt.Errorf("%w: %d and %d", ErrLength, len(dst), len(x))
	}
	scale, largest := g.scale(1), 0.0
	for i, v := range x {
		m := math.Abs(v * scale)
		if !(m < limit) { // NaN isn't below anything
			return fmt.Errorf("coordinate %d: %w", i, g.check(v))
		}
		if m > largest {
			largest = m
		}
	}
	if largest < exact {
		roundSmall(dst, x, scale)
		return nil
	}
	for i, v := range x {
		dst[i] = int64(math.RoundToEven(v * scale))
	}
	return nil
}

// exact is the magnitude below which roundSmall rounds.
const exact = 1 << 51

// roundSmall rounds products below exact in magnitude, ties to even. Beside 3·2^51 a
// float64 has no room for a fraction: the sum is rounded to an integer as the standard
// (IEEE 754) says, to an even one in a tie since 3·2^51 is even, and its last bits are
// the integer.
func roundSmall(dst []int64, x []float64, scale float64) {
	const beside = 3 << 51
	none := int64(math.Float64bits(beside))
	dst = dst[:len(x)]
	for i, v := range x {
		scaled := float64(v * scale) // exact, as scale says; the conversion forbids fusing it with the sum
		dst[i] = int64(math.Float64bits(scaled+beside)) - none
	}
}

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
