package fixedpoint

import (
	"errors"
	"fmt"

	"choir/crypto/field"
)

// MaxPaired is the largest magnitude of a coordinate that shares an element with another one, and
// of sums of such coordinates.
const MaxPaired = 1<<31 - 1

// ErrPadding reports that the last pair of an odd number of coordinates has a second one.
var ErrPadding = errors.New("fixedpoint: a coordinate after the last one")

// Paired returns the number of pairs of d coordinates. The last of an odd number is alone.
func Paired(d int) int { return (d + 1) / 2 }

// Pair sets dst[i] to the pair of v[2i] and v[2i+1],
//
//	v[2i] + 2^32 v[2i+1],
//
// where a missing last coordinate is 0. If |v[j]| > [MaxPaired], it returns [ErrRange] with the
// index of the first such coordinate, and dst is zero.
//
// A sum of pairs is the pair of the sums. If both sums A and B have magnitude at most 2^31 - 1, the
// sum of the pairs is A + 2^32 B, of magnitude at most
//
//	(2^31 - 1) (2^32 + 1) = 2^63 - 2^32 + 2^31 - 1 < (p-1)/2 = 2^63 - 2^31,
//
// which the field represents, and [Unpair] recovers A and B.
func Pair(dst, v []int64) error {
	if len(dst) != Paired(len(v)) {
		return fmt.Errorf("%w: %d pairs of %d coordinates", ErrLength, len(dst), len(v))
	}
	whole := v[:len(v)&^1]
	for i := range dst[:len(whole)/2] {
		a, b := whole[2*i], whole[2*i+1]
		if !inHalf(a) || !inHalf(b) {
			clear(dst)
			return unpairable(v)
		}
		dst[i] = a + b<<32
	}
	if len(v)%2 == 1 {
		last := v[len(v)-1]
		if !inHalf(last) {
			clear(dst)
			return unpairable(v)
		}
		dst[len(dst)-1] = last
	}
	return nil
}

// PairToField is [Pair] followed by [ToField], without the intermediate vector.
func PairToField(dst field.Vector, v []int64) error {
	if len(dst) != Paired(len(v)) {
		return fmt.Errorf("%w: %d pairs of %d coordinates", ErrLength, len(dst), len(v))
	}
	n := pairFours(dst, v)
	for i := n; i < len(dst); i++ {
		a, b := v[2*i], int64(0)
		if 2*i+1 < len(v) {
			b = v[2*i+1]
		}
		if !inHalf(a) || !inHalf(b) {
			clear(dst)
			return unpairable(v)
		}
		dst[i] = pairElement(a, b)
	}
	return nil
}

// pairFours sets elements at the front of dst to pairs of v, four coordinates at a time, and
// returns the number of elements set. If a coordinate is not in [-2^30, 2^30), it returns 0 and
// dst is undefined: one OR tests this for all coordinates.
func pairFours(dst field.Vector, v []int64) (n int) {
	const half = 1 << 30
	var moved uint64 // the OR of all x + half
	for ; len(dst)-n >= 2 && len(v) >= 4; v = v[4:] {
		to, four := (*[2]field.Element)(dst[n:]), (*[4]int64)(v)
		a, b, c, d := four[0], four[1], four[2], four[3]
		moved |= uint64(a+half) | uint64(b+half) | uint64(c+half) | uint64(d+half)
		to[0], to[1] = pairElement(a, b), pairElement(c, d)
		n += 2
	}
	if moved >= 2*half {
		return 0
	}
	return n
}

// pairElement returns the element of the pair of a and b, which are in range.
func pairElement(a, b int64) field.Element {
	s := a + b<<32
	return field.Element(uint64(s) + field.Modulus&uint64(s>>63))
}

// inHalf reports whether |x| is at most MaxPaired, with one comparison for both bounds.
func inHalf(x int64) bool { return uint64(x+MaxPaired) <= 2*MaxPaired }

// unpairable returns an error with the index of the first coordinate that is out of range.
func unpairable(v []int64) error {
	for j, x := range v {
		if x > MaxPaired || x < -MaxPaired {
			return fmt.Errorf("coordinate %d: %w: more than 2^31 - 1, two in an element", j, ErrRange)
		}
	}
	return ErrRange
}

// Unpair sets dst to the coordinates of pairs, which are any integers that [FromField] returns. The
// first coordinate of each pair is in [-2^31, 2^31 - 1], which makes them unique. It returns
// [ErrPadding] if dst has an odd length and the last pair has a second coordinate.
func Unpair(dst, pairs []int64) error {
	if len(pairs) != Paired(len(dst)) {
		return fmt.Errorf("%w: %d pairs of %d coordinates", ErrLength, len(pairs), len(dst))
	}
	for i := range len(dst) / 2 {
		s := pairs[i]
		dst[2*i], dst[2*i+1] = int64(int32(s)), second(s)
	}
	if len(dst)%2 == 1 {
		s := pairs[len(pairs)-1]
		if second(s) != 0 {
			clear(dst)
			return ErrPadding
		}
		dst[len(dst)-1] = int64(int32(s))
	}
	return nil
}

// second returns the second coordinate of a pair, (s - int32(s)) / 2^32, without overflow.
func second(s int64) int64 { return s>>32 + s>>31&1 }
