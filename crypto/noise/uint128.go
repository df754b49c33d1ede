package noise

import (
	"math/big"
	"math/bits"
)

// uint128 is an unsigned integer of 128 bits.
type uint128 struct{ hi, lo uint64 }

// less reports whether a < b.
func (a uint128) less(b uint128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// mul64 returns a * b, which must fit.
func (a uint128) mul64(b uint64) uint128 {
	hi, lo := bits.Mul64(a.lo, b)
	return uint128{hi: hi + a.hi*b, lo: lo}
}

// distance returns |a - b|.
func (a uint128) distance(b uint128) uint128 {
	if a.less(b) {
		a, b = b, a
	}
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return uint128{hi: a.hi - b.hi - borrow, lo: lo}
}

// square returns a * a, most significant word first, for a below 2^96.
func (a uint128) square() (n2, n1, n0 uint64) {
	hi, lo := bits.Mul64(a.lo, a.lo)
	crossHi, crossLo := bits.Mul64(2*a.hi, a.lo)
	n1, carry := bits.Add64(hi, crossLo, 0)
	return a.hi*a.hi + crossHi + carry, n1, lo
}

// big returns a.
func (a uint128) big() *big.Int {
	x := new(big.Int).SetUint64(a.hi)
	return x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(a.lo))
}

// divide returns the quotient and the remainder of the three-word n by d. The two
// upper words of n must be below d, so that the quotient is a single word.
func divide(n2, n1, n0 uint64, d uint128) (q uint64, r uint128) {
	if d.hi == 0 {
		q, r.lo = bits.Div64(n1, n0, d.lo)
		return q, r
	}
	// Knuth's Algorithm D for a quotient of one word: with the divisor's top bit
	// set, the estimate from its upper word is too large by two at most.
	shift := uint(bits.LeadingZeros64(d.hi))
	d = uint128{hi: d.hi<<shift | d.lo>>(64-shift), lo: d.lo << shift}
	n2 = n2<<shift | n1>>(64-shift)
	n1 = n1<<shift | n0>>(64-shift)
	n0 <<= shift
	q = ^uint64(0)
	if n2 < d.hi {
		q, _ = bits.Div64(n2, n1, d.hi)
	}
	q, r = correct(q, n2, n1, n0, d)
	return q, uint128{hi: r.hi >> shift, lo: r.lo>>shift | r.hi<<(64-shift)}
}

// correct decreases the estimate q of n / d until the remainder is not negative.
func correct(q, n2, n1, n0 uint64, d uint128) (uint64, uint128) {
	upper, mid := bits.Mul64(q, d.hi)
	carryWord, low := bits.Mul64(q, d.lo)
	mid, carry := bits.Add64(mid, carryWord, 0)
	upper += carry
	n0, borrow := bits.Sub64(n0, low, 0)
	n1, borrow = bits.Sub64(n1, mid, borrow)
	n2, borrow = bits.Sub64(n2, upper, borrow)
	for borrow == 1 { // n2 is then negative, in two's complement
		q--
		n0, carry = bits.Add64(n0, d.lo, 0)
		n1, carry = bits.Add64(n1, d.hi, carry)
		n2, carry = bits.Add64(n2, 0, carry)
		borrow = 1 - carry
	}
	return q, uint128{hi: n1, lo: n0}
}
