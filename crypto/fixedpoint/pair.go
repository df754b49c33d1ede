package fixedpoint

import (
	"errors"
	"fmt"

	"choir/crypto/field"
)

// MaxPaired is the largest magnitude of a coordinate that shares an element with
// another one, and of every sum of such coordinates.
const MaxPaired = 1<<31 - 1

// ErrPadding says that a vector of pairs has something where the last pair has no
// second coordinate.
var ErrPadding = errors.New("fixedpoint: a coordinate behind the last one")

// Paired is how many pairs d coordinates make; the last of an odd number stands alone.
func Paired(d int) int { return (d + 1) / 2 }

// Pair sets dst[i] to the pair of v[2i] and v[2i+1],
//
//	v[2i] + 2^32 v[2i+1],
//
// where a coordinate behind the last one is 0. It refuses |v[j]| > [MaxPaired] with
// [ErrRange], naming the first such coordinate; dst is zero then.
//
// Pairs add up like their coordinates. With A and B the two sums, both of magnitude at
// most 2^31 - 1, a sum of pairs is A + 2^32 B, of magnitude at most
//
//	(2^31 - 1) (2^32 + 1) = 2^63 - 2^32 + 2^31 - 1 < (p-1)/2 = 2^63 - 2^31,
//
// so that the field holds it, and [Unpair] finds A and B.
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

// PairToField is Pair and then [ToField], with no pairs in between.
func PairToField(dst field.Vector, v []int64) error {
	if len(dst) != Paired(len(v)) {
		return fmt.Errorf("%w: %d pairs of %d coordinates", ErrLength, len(dst), len(v))
	}
	n, moved := pairs(dst, v)
	if moved >= 2*smallHalf { // something is large: each is looked at, for the one that is too large
		n = 0
	}
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

// smallHalf is what coordinates stay within that are paired several at a time, from
// -smallHalf to smallHalf - 1: the bits of all of them together tell.
const smallHalf = 1 << 30

// pairsGo sets elements from the front of dst to the pairs from the front of v, as many as it
// likes, of no meaning unless moved, the OR of all v[j] + smallHalf that they are made of, is
// below 2 smallHalf.
func pairsGo(dst field.Vector, v []int64) (n int, moved uint64) {
	for ; len(dst)-n >= 2 && len(v) >= 4; v = v[4:] {
		to, four := (*[2]field.Element)(dst[n:]), (*[4]int64)(v)
		a, b, c, d := four[0], four[1], four[2], four[3]
		moved |= uint64(a+smallHalf) | uint64(b+smallHalf) | uint64(c+smallHalf) | uint64(d+smallHalf)
		to[0], to[1] = pairElement(a, b), pairElement(c, d)
		n += 2
	}
	return n, moved
}

// pairElement is the element of the pair of a and b, both in range.
func pairElement(a, b int64) field.Element {
	s := a + b<<32
	return field.Element(uint64(s) + field.Modulus&uint64(s>>63))
}

// inHalf: |x| is at most MaxPaired. One comparison for both ends.
func inHalf(x int64) bool { return uint64(x+MaxPaired) <= 2*MaxPaired }

// unpairable names the first coordinate that is out of range.
func unpairable(v []int64) error {
	for j, x := range v {
		if x > MaxPaired || x < -MaxPaired {
			return fmt.Errorf("coordinate %d: %w: more than 2^31 - 1, two in an element", j, ErrRange)
		}
	}
	return ErrRange
}

// Unpair sets dst to the coordinates of the pairs: of any integers that
// [FromField] returns, the only ones of which the first of each pair is in
// [-2^31, 2^31 - 1]. It refuses with [ErrPadding] when dst has an odd length and the last
// pair a second coordinate.
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

// second is a pair's second coordinate, (s - int32(s)) / 2^32 without an overflow.
func second(s int64) int64 { return s>>32 + s>>31&1 }
