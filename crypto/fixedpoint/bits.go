package fixedpoint

import "math/bits"

// Bits returns the number of bits of the widest integer in two's complement, sign included; 0 if
// all of them are zero.
func Bits(v []int64) int {
	// The highest bit of x that differs from the next lower one is the lowest bit of the sign.
	var differing uint64
	for _, x := range v {
		differing |= uint64(x ^ x<<1)
	}
	return bits.Len64(differing)
}
