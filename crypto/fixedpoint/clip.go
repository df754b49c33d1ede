package fixedpoint

import (
	"math"
	"math/big"
	"math/bits"
)

// ClipReal scales x in place toward zero so that its L2 norm is at most c, up to
// floating-point rounding, and reports whether x changed. The norm is computed
// relative to the largest coordinate, so that it neither overflows nor underflows.
//
// A vector with a NaN or an infinity is unchanged; [Grid.Round] rejects it. If c is NaN, zero or
// negative, x becomes zero.
func ClipReal(x []float64, c float64) (clipped bool) {
	largest, finite := maxAbs(x)
	if !finite || largest == 0 {
		return false
	}
	if !(c > 0) {
		clear(x)
		return true
	}
	relative := relativeNorm(x, largest)
	if largest*relative <= c { // an overflowing product is above any finite c
		return false
	}
	for i, v := range x {
		x[i] = v / largest / relative * c
	}
	return true
}

// maxAbs returns the largest magnitude in x and reports whether all of x is finite.
func maxAbs(x []float64) (largest float64, finite bool) {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, false
		}
		largest = max(largest, math.Abs(v))
	}
	return largest, true
}

// relativeNorm returns the L2 norm of x / largest, between 1 and sqrt(len(x)).
func relativeNorm(x []float64, largest float64) float64 {
	var sum float64
	for _, v := range x {
		r := v / largest
		sum += float64(r * r) // without the conversion some platforms fuse
	}
	return math.Sqrt(sum)
}

// Squares is the exact sum of the squares of a vector that is added in pieces. The zero value is
// zero.
type Squares struct{ sum wide }

// Add adds the squares of v.
func (s *Squares) Add(v []int64) { s.sum.addVector(v) }

// AddSum adds a sum of squares that the caller has computed.
func (s *Squares) AddSum(squares uint64) { s.sum.add(0, squares) }

// AtMost reports whether the sum is at most bound^2.
func (s *Squares) AtMost(bound uint64) bool {
	hi, lo := bits.Mul64(bound, bound)
	return s.sum.atMost(wide{lo, hi, 0})
}

// NormSquaredAtMost reports whether the sum of v[i]^2 is at most bound^2, in exact
// arithmetic.
func NormSquaredAtMost(v []int64, bound uint64) bool {
	var s Squares
	s.Add(v)
	return s.AtMost(bound)
}

// RoundClip is [Grid.Round] followed by [ClipInt]. A vector within the bound, as most are, takes a
// single pass.
func (g Grid) RoundClip(dst []int64, x []float64, bound uint64) (clipped bool, err error) {
	var s Squares
	if err := g.round(dst, x, &s); err != nil || s.AtMost(bound) {
		return false, err
	}
	return ClipInt(dst, bound), nil
}

// ClipInt scales v in place toward zero so that the sum of v[i]^2 is at most bound^2
// exactly, and reports whether v changed: a vector within the bound is unchanged.
// The result is the same on every platform.
//
// With n the norm rounded up, v[i] becomes sign(v[i]) * floor(|v[i]| * bound / n).
// No magnitude exceeds |v[i]| * bound / norm, so that the new norm is at most
// bound. Each floor loses less than one unit.
func ClipInt(v []int64, bound uint64) (clipped bool) {
	if NormSquaredAtMost(v, bound) {
		return false
	}
	n, shift := normSquared(v).ceilSqrt()
	for i, x := range v {
		m := int64(scaleDown(magnitude(x), bound, n, shift))
		if x < 0 {
			m = -m
		}
		v[i] = m
	}
	return true
}

// scaleDown returns floor(floor(m * bound / 2^shift) / n). m is at most n * 2^shift,
// so that the quotient is at most bound and the division cannot overflow.
func scaleDown(m, bound, n uint64, shift uint) uint64 {
	hi, lo := bits.Mul64(m, bound)
	lo = lo>>shift | hi<<(64-shift)
	q, _ := bits.Div64(hi>>shift, lo, n)
	return q
}

// magnitude returns |x|, for the smallest int64 too.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// wide is an unsigned integer of 192 bits, least significant word first. The sum
// of 2^64 squares of int64 values fits.
type wide [3]uint64

// The squares of a run of integers in [-2^small, 2^small) fit one word: 2^9 · (2^27)^2 < 2^64.
const (
	small = 27
	run   = 1 << 9
)

// normSquared returns the sum of v[i]^2.
func normSquared(v []int64) (sum wide) {
	sum.addVector(v)
	return sum
}

// addVector adds v[i]^2 for each i.
func (a *wide) addVector(v []int64) {
	for len(v) > 0 {
		now := v[:min(run, len(v))]
		if squares, ok := smallSquares(now); ok {
			a.add(0, squares)
		} else {
			a.addSquares(now)
		}
		v = v[len(now):]
	}
}

// smallSquares returns the sum of the squares of a run, and reports whether all integers are in
// [-2^small, 2^small). If not, the sum is undefined.
func smallSquares(v []int64) (squares uint64, ok bool) {
	const half = 1 << small
	var sum, more, moved uint64 // moved: x + 2^small, below 2^(small+1) for each x
	for len(v) >= 4 {
		four := (*[4]int64)(v)
		a, b, c, d := uint64(four[0]), uint64(four[1]), uint64(four[2]), uint64(four[3])
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		sum += a*a + b*b
		more += c*c + d*d
		v = v[4:]
	}
	for _, x := range v {
		moved |= uint64(x) + half
		sum += uint64(x) * uint64(x)
	}
	return sum + more, moved < 2*half
}

// addSquares adds the squares of any integers.
func (a *wide) addSquares(v []int64) {
	for _, x := range v {
		m := magnitude(x)
		a.add(bits.Mul64(m, m))
	}
}

func (a *wide) add(hi, lo uint64) {
	var carry uint64
	a[0], carry = bits.Add64(a[0], lo, 0)
	a[1], carry = bits.Add64(a[1], hi, carry)
	a[2] += carry
}

// atMost reports whether a <= b.
func (a wide) atMost(b wide) bool {
	_, borrow := bits.Sub64(b[0], a[0], 0)
	_, borrow = bits.Sub64(b[1], a[1], borrow)
	_, borrow = bits.Sub64(b[2], a[2], borrow)
	return borrow == 0
}

// ceilSqrt returns the least n * 2^shift >= sqrt(a) with n of 64 bits. shift is zero unless the root
// is 2^64 or more, and always below 64.
func (a wide) ceilSqrt() (n uint64, shift uint) {
	square := new(big.Int)
	for i := len(a) - 1; i >= 0; i-- {
		square.Lsh(square, 64).Or(square, new(big.Int).SetUint64(a[i]))
	}
	root := new(big.Int).Sqrt(square)
	if new(big.Int).Mul(root, root).Cmp(square) < 0 {
		root.Add(root, big.NewInt(1))
	}
	for root.BitLen() > 64 {
		shift++
		root.Add(root, big.NewInt(1)).Rsh(root, 1) // ceil(ceil(r)/2) = ceil(r/2)
	}
	return root.Uint64(), shift
}
