package field

import "math/bits"

const (
	// Modulus is p = 2^64 - 2^32 + 1.
	Modulus uint64 = 0xFFFFFFFF00000001

	// MaxSigned is (p-1)/2 = 2^63 - 2^31, the largest magnitude of the signed
	// representation. Every represented integer fits an int64.
	MaxSigned int64 = int64((Modulus - 1) / 2)

	// epsilon is 2^64 mod p = 2^32 - 1, the value of a carry out of 64 bits.
	epsilon = 1<<32 - 1
)

// Element is an integer modulo p in canonical form: smaller than [Modulus].
type Element uint64

// New returns x as an element and reports whether x is canonical. If it is not, the
// element is zero.
func New(x uint64) (Element, bool) {
	if x >= Modulus {
		return 0, false
	}
	return Element(x), true
}

// Add returns a + b.
func Add(a, b Element) Element {
	// a + b = a - (p - b). A borrow means that p must be added back.
	d, borrow := bits.Sub64(uint64(a), Modulus-uint64(b), 0)
	return Element(d + Modulus&-borrow)
}

// Sub returns a - b.
func Sub(a, b Element) Element {
	d, borrow := bits.Sub64(uint64(a), uint64(b), 0)
	return Element(d + Modulus&-borrow)
}

// Neg returns -a.
func Neg(a Element) Element {
	return Sub(0, a)
}

// Mul returns a * b.
//
// With 2^64 = 2^32 - 1 and 2^96 = -1 modulo p, the 128-bit product
// lo + 2^64 (mid + 2^32 top) is lo - top + mid (2^32 - 1).
func Mul(a, b Element) Element {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	top, mid := hi>>32, hi&epsilon
	// A difference that wrapped is at least 2^64 - 2^32 + 1, so that subtracting epsilon
	// cannot wrap again. The same holds for the sum below.
	d, borrow := bits.Sub64(lo, top, 0)
	d -= epsilon & -borrow
	s, carry := bits.Add64(d, mid<<32-mid, 0)
	s += epsilon & -carry
	return reduce(s)
}

// reduce returns x mod p. Every 64-bit word is below 2p.
func reduce(x uint64) Element {
	d, borrow := bits.Sub64(x, Modulus, 0)
	return Element(d + Modulus&-borrow)
}

// Int64 returns the integer in [-MaxSigned, MaxSigned] that e represents.
func (e Element) Int64() int64 {
	_, negative := bits.Sub64(uint64(MaxSigned), uint64(e), 0)
	return int64(uint64(e) - Modulus&-negative)
}
