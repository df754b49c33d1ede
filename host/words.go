package host

import (
	"encoding/binary"
	"math/bits"
)

// Models and updates are 64-bit integers of which a few bytes say everything:
// where that is so they are written in so many, and the disk takes a fraction.

// maxWidth is the most bytes that a word is written in when not in all eight.
const maxWidth = 4

// widthOf is how many bytes, 1 to maxWidth, hold each of the value's words, little
// endian and signed, or 0 when it isn't made of such.
func widthOf(value []byte) int {
	if len(value) == 0 || len(value)%8 != 0 {
		return 0
	}
	const limit = 1 << (8*maxWidth - 1)
	var all uint64
	for b := value; len(b) > 0; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		if all |= x ^ uint64(int64(x)>>63); all >= limit {
			return 0
		}
	}
	return max(1, (bits.Len64(all)+8)/8)
}

// narrow writes as many of a value's words as fit, a multiple of a page of them, in
// width bytes each, and returns how many bytes that took and the words that are left.
// widthOf says that they fit; dst has at least maxWidth+1 pages.
func narrow(dst, value []byte, width int) (size int, rest []byte) {
	n := min(len(value)/8, (len(dst)-8)/(align*width)*align)
	for i := range n {
		// Each word is written whole; the next one overwrites what is too much.
		copy(dst[i*width:i*width+8], value[8*i:8*i+8])
	}
	return n * width, value[8*n:]
}

// widen is narrow's inverse; the length of b is a multiple of width.
func widen(b []byte, width int) []byte {
	n := len(b) / width
	value := make([]byte, 8*n)
	shift := 64 - 8*width
	var word [8]byte
	for i := range n {
		copy(word[:], b[i*width:(i+1)*width])
		x := int64(binary.LittleEndian.Uint64(word[:])) << shift >> shift
		binary.LittleEndian.PutUint64(value[8*i:], uint64(x))
	}
	return value
}
