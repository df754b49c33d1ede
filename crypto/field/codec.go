package field

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
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
	dst = append(dst, make([]byte, len(v)*ElementSize)...)
	out := dst[start:]
	for _, e := range v {
		binary.LittleEndian.PutUint64(out, uint64(e))
		out = out[ElementSize:]
	}
	return dst
}

// DecodeVector sets dst to the vector that src encodes. src must hold exactly
// len(dst) elements ([ErrLength]), all of them canonical ([ErrNonCanonical], with
// the index of the first one that is not). On failure dst is untouched.
//
// The canonical check accumulates over the whole vector and branches once, on its
// outcome, so that a valid secret vector decodes in constant time.
func DecodeVector(dst Vector, src []byte) error {
	if len(src)%ElementSize != 0 || len(src)/ElementSize != len(dst) {
		return fmt.Errorf("%w: %d bytes for %d elements of %d bytes",
			ErrLength, len(src), len(dst), ElementSize)
	}
	if !canonical(src) {
		return fmt.Errorf("%w: index %d of %d", ErrNonCanonical, firstNonCanonical(src), len(dst))
	}
	for i := range dst {
		dst[i] = Element(binary.LittleEndian.Uint64(src))
		src = src[ElementSize:]
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
