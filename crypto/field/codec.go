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
	// ErrLength says that an encoding has not the one length that it must have.
	ErrLength = errors.New("field: wrong length")

	// ErrNonCanonical says that an encoded element is p or more.
	ErrNonCanonical = errors.New("field: non-canonical element")
)

// AppendVector appends the encoding of v to dst and returns the longer slice:
//
//	element[0] | element[1] | ...    8 bytes each, little endian, < p
//
// The length is not part of the encoding; both sides know it from the plan.
func AppendVector(dst []byte, v Vector) []byte {
	start := len(dst)
	dst = slices.Grow(dst, len(v)*ElementSize)[:start+len(v)*ElementSize]
	PutVector(dst[start:], v)
	return dst
}

// PutVector writes the encoding of v to dst, which has exactly that many bytes;
// anything else panics.
func PutVector(dst []byte, v Vector) {
	if len(dst) != len(v)*ElementSize {
		panic("field: PutVector into another length")
	}
	putWords(dst, v)
}

// DecodeVector sets dst to the vector that src encodes. src must hold exactly
// len(dst) elements ([ErrLength]), all of them canonical ([ErrNonCanonical], with
// the index of the first one that is not). On failure dst is untouched.
//
// The canonical check branches on nothing but whether there is such an element, so
// that a valid secret vector decodes in constant time.
func DecodeVector(dst Vector, src []byte) error {
	if err := refuse(len(dst), src); err != nil {
		return err
	}
	dst.SetWords(src)
	return nil
}

// AddEncoded adds to v the vector that src encodes, without a vector in between. It
// refuses what DecodeVector refuses, and leaves v as it was then.
func (v Vector) AddEncoded(src []byte) error {
	if err := refuse(len(v), src); err != nil {
		return err
	}
	v.AddWords(src)
	return nil
}

// SubEncoded subtracts from v the vector that src encodes, likewise.
func (v Vector) SubEncoded(src []byte) error {
	if err := refuse(len(v), src); err != nil {
		return err
	}
	v.SubWords(src)
	return nil
}

// refuse says why src isn't the encoding of a vector of n elements; nil when it is.
func refuse(n int, src []byte) error {
	if len(src)%ElementSize != 0 || len(src)/ElementSize != n {
		return fmt.Errorf("%w: %d bytes for %d elements of %d bytes",
			ErrLength, len(src), n, ElementSize)
	}
	if !canonical(src) {
		return fmt.Errorf("%w: index %d of %d", ErrNonCanonical, firstNonCanonical(src), n)
	}
	return nil
}

// canonical tells whether every word of src is below p.
func canonical(src []byte) bool {
	src = src[canonicalBlocks(src)*ElementSize:]
	below := uint64(1)
	for ; len(src) >= ElementSize; src = src[ElementSize:] {
		_, borrow := bits.Sub64(binary.LittleEndian.Uint64(src), Modulus, 0)
		below &= borrow
	}
	return below == 1
}

// firstNonCanonical returns the index of the first word of src that is p or more,
// and -1 if there is none. It is only called on vectors that are refused.
func firstNonCanonical(src []byte) int {
	for i := 0; len(src) >= ElementSize; i++ {
		if binary.LittleEndian.Uint64(src) >= Modulus {
			return i
		}
		src = src[ElementSize:]
	}
	return -1
}
