package field

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ElementSize is the size of an encoded element in bytes.
const ElementSize = 8

var (
	// ErrLength reports that an encoding does not have the required length.
	ErrLength = errors.New("field: wrong length")

	// ErrNonCanonical reports that an encoded element is p or more.
	ErrNonCanonical = errors.New("field: non-canonical element")
)

// AppendVector appends the encoding of v to dst and returns the extended slice:
//
//	element[0] | element[1] | ...    8 bytes each, little endian, < p
//
// The length is not part of the encoding; the reader knows it from the plan.
func AppendVector(dst []byte, v Vector) []byte {
	start := len(dst)
	dst = slices.Grow(dst, len(v)*ElementSize)[:start+len(v)*ElementSize]
	PutVector(dst[start:], v)
	return dst
}

// PutVector writes the encoding of v to dst. It panics unless dst has the length of the
// encoding.
func PutVector(dst []byte, v Vector) {
	if len(dst) != len(v)*ElementSize {
		panic("field: PutVector with a buffer of the wrong length")
	}
	putWords(dst, v)
}

// DecodeVector sets dst to the vector that src encodes. It returns [ErrLength] unless src
// encodes exactly len(dst) elements, and [ErrNonCanonical], with the index of the first
// offending element, unless all of them are canonical. On failure dst is unchanged.
//
// The check branches only on whether a non-canonical element exists, so that a valid secret
// vector is decoded in constant time.
func DecodeVector(dst Vector, src []byte) error {
	if err := checkEncoding(len(dst), src); err != nil {
		return err
	}
	dst.SetWords(src)
	return nil
}

// AddEncoded adds the vector that src encodes to v without a temporary vector. Its errors are
// those of [DecodeVector]. On failure v is unchanged.
func (v Vector) AddEncoded(src []byte) error {
	if err := checkEncoding(len(v), src); err != nil {
		return err
	}
	v.AddWords(src)
	return nil
}

// SubEncoded subtracts the vector that src encodes from v. It fails as [Vector.AddEncoded] does.
func (v Vector) SubEncoded(src []byte) error {
	if err := checkEncoding(len(v), src); err != nil {
		return err
	}
	v.SubWords(src)
	return nil
}

// checkEncoding returns an error unless src is the encoding of a vector of n elements.
func checkEncoding(n int, src []byte) error {
	if len(src)%ElementSize != 0 || len(src)/ElementSize != n {
		return fmt.Errorf("%w: %d bytes for %d elements of %d bytes",
			ErrLength, len(src), n, ElementSize)
	}
	if !canonical(src) {
		return fmt.Errorf("%w: index %d of %d", ErrNonCanonical, firstNonCanonical(src), n)
	}
	return nil
}

// canonical reports whether every word of src is below p.
func canonical(src []byte) bool {
	src = src[canonicalBlocks(src)*ElementSize:]
	below := uint64(1)
	for ; len(src) >= ElementSize; src = src[ElementSize:] {
		_, borrow := bits.Sub64(binary.LittleEndian.Uint64(src), Modulus, 0)
		below &= borrow
	}
	return below == 1
}

// firstNonCanonical returns the index of the first word of src that is p or more, or -1. It is
// only called on vectors that are rejected.
func firstNonCanonical(src []byte) int {
	for i := 0; len(src) >= ElementSize; i++ {
		if binary.LittleEndian.Uint64(src) >= Modulus {
			return i
		}
		src = src[ElementSize:]
	}
	return -1
}
