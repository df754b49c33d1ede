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
	for _, e := range v {
		binary.LittleEndian.PutUint64(dst, uint64(e))
		dst = dst[ElementSize:]
	}
}

// DecodeVector sets dst to the vector that src encodes. src must hold exactly
// len(dst) elements ([ErrLength]), all of them canonical ([ErrNonCanonical], with
// the index of the first one that is not). On failure dst is untouched.
//
// The canonical check accumulates over the whole vector and branches once, on its
// outcome, so that a valid secret vector decodes in constant time.
func DecodeVector(dst Vector, src []byte) error {
	if err := refuse(len(dst), src); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = Element(binary.LittleEndian.Uint64(src))
		src = src[ElementSize:]
	}
	return nil
}

// AddEncoded adds to v the vector that src encodes, without a vector in between. It
// refuses what DecodeVector refuses, and leaves v as it was then.
func (v Vector) AddEncoded(src []byte) error {
	if err := refuse(len(v), src); err != nil {
		return err
	}
	for i := range v {
		v[i] = Add(v[i], Element(binary.LittleEndian.Uint64(src)))
		src = src[ElementSize:]
	}
	return nil
}

// SubEncoded subtracts from v the vector that src encodes, likewise.
func (v Vector) SubEncoded(src []byte) error {
	if err := refuse(len(v), src); err != nil {
		return err
	}
	for i := range v {
		v[i] = Sub(v[i], Element(binary.LittleEndian.Uint64(src)))
		src = src[ElementSize:]
	}
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
