package fixedpoint

import (
	"errors"
	"fmt"
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
		if uint64(a+MaxPaired) > 2*MaxPaired || uint64(b+MaxPaired) > 2*MaxPaired {
			return unpairable(dst, v)
		}
		dst[i] = a + b<<32
	}
	if len(v)%2 == 1 {
		last := v[len(v)-1]
		if uint64(last+MaxPaired) > 2*MaxPaired {
			return unpairable(dst, v)
		}
		dst[len(dst)-1] = last
	}
	return nil
}

// unpairable names the first coordinate that is out of range.
func unpairable(dst, v []int64) error {
	clear(dst)
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
