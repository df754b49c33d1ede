package fixedpoint

import (
	"fmt"

	"choir/crypto/field"
)

// ToField sets dst to the signed representation of v. If |v[i]| > (p-1)/2, it returns
// [ErrRange] with the index of the first such coordinate, and dst is zero.
func ToField(dst field.Vector, v []int64) error {
	if len(dst) != len(v) {
		return fmt.Errorf("%w: %d and %d", ErrLength, len(dst), len(v))
	}
	if i := dst.SetSigned(v); i < len(v) {
		clear(dst)
		return fmt.Errorf("coordinate %d: %w: more than (p-1)/2", i, ErrRange)
	}
	return nil
}

// FromField sets dst to the integers in [-(p-1)/2, (p-1)/2] that v represents. It
// panics if the lengths differ.
func FromField(dst []int64, v field.Vector) {
	if len(dst) != len(v) {
		panic("fixedpoint: FromField of vectors of different length")
	}
	for i, e := range v {
		dst[i] = e.Int64()
	}
}
