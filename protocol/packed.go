package protocol

import (
	"encoding/binary"
	"slices"

	"choir/crypto/fixedpoint"
)

// The packed form of integers: what IntDigest hashes, and what members store of models and
// updates, whose integers fit into a few bytes each.
//
//	u64 count, little endian
//	for each 4096 integers: u8 width, 0 to 8; width bytes each, little endian, two's complement
//	zeros, up to the first length that is 1 modulo 8
//
// The width of a block is the smallest that holds all its integers, so a vector has one
// packed form.

// packedBlock is the number of integers in a block; the last block may have fewer.
const packedBlock = 4096

// PackInts returns the packed form of v.
func PackInts(v []int64) []byte { return appendPacked(nil, v, nil) }

// AppendPackedInts appends the packed form of v to dst. It also returns the sum of the
// squares of v, which it gets in the same pass.
func AppendPackedInts(dst []byte, v []int64) ([]byte, fixedpoint.Squares) {
	var norm fixedpoint.Squares
	return appendPacked(dst, v, &norm), norm
}

func appendPacked(dst []byte, v []int64, norm *fixedpoint.Squares) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 8+packedSize(len(v), v[:min(len(v), packedBlock)]))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(v)))
	for block := range slices.Chunk(v, packedBlock) {
		dst = packBlock(dst, block, norm)
	}
	return append(dst, make([]byte, packedPadding(len(dst)-start))...)
}

// packedSize estimates the packed size of count integers, the first of which are given.
func packedSize(count int, first []int64) int {
	return 24 + count/packedBlock + count*intWidth(first)
}

// packedPadding is the number of zeros that end a packed form of size bytes.
func packedPadding(size int) int { return (9 - size%8) % 8 }

// packBlock appends a block and adds its squares to norm, unless norm is nil.
func packBlock(b []byte, block []int64, norm *fixedpoint.Squares) []byte {
	width := intWidth(block)
	start, size := len(b)+1, len(block)*width
	b = append(slices.Grow(b, 1+size+8), byte(width))
	squares, ok := fixedpoint.PackShort(b[start:start+size+8], block, width)
	switch {
	case !ok:
		putInts(b[start:start+size+8], block, width)
		if norm != nil {
			norm.Add(block)
		}
	case norm != nil:
		norm.AddSum(squares)
	}
	return b[:start+size]
}

// putInts writes the lowest width bytes of each integer to dst, little endian. It may
// overwrite 8 bytes after the last one, which dst must have.
func putInts(dst []byte, v []int64, width int) {
	for _, x := range v { // each integer overwrites the upper bytes of the one before
		binary.LittleEndian.PutUint64(dst, uint64(x))
		dst = dst[width:]
	}
}

// intWidth is the number of bytes that two's complement needs for every integer of v, 0 if
// all of them are zero.
func intWidth(v []int64) int { return (fixedpoint.Bits(v) + 7) / 8 }

// UnpackInts is the inverse of PackInts for up to maxDim integers; ok is false for any
// other input.
func UnpackInts(b []byte) (v []int64, ok bool) {
	p, ok := ViewPackedInts(b)
	if !ok {
		return nil, false
	}
	v = make([]int64, p.count)
	p.AddTo(v, v, 0)
	for i, start := range p.starts {
		block := v[i*packedBlock : min(len(v), (i+1)*packedBlock)]
		if intWidth(block) != int(b[start]) {
			return nil, false
		}
	}
	return v, true
}

// PackedInts reads a packed form without unpacking all of it.
type PackedInts struct {
	b      []byte
	count  int
	starts []int // of the blocks, in b
}

// ViewPackedInts returns a view of b, which must not change while the view is in use. It
// checks that b has the layout of a packed form, and not that its blocks have the smallest
// possible width.
func ViewPackedInts(b []byte) (p PackedInts, ok bool) {
	if len(b)%8 != 1 || len(b) < 9 {
		return PackedInts{}, false
	}
	count := binary.LittleEndian.Uint64(b)
	if count > maxDim || count > uint64(len(b))*packedBlock {
		return PackedInts{}, false
	}
	p = PackedInts{b: b, count: int(count)}
	p.starts = make([]int, 0, (p.count+packedBlock-1)/packedBlock)
	at := 8
	for left := p.count; left > 0; left -= packedBlock {
		if at >= len(b) || b[at] > 8 {
			return PackedInts{}, false
		}
		p.starts = append(p.starts, at)
		at += 1 + min(left, packedBlock)*int(b[at])
	}
	if at > len(b) || len(b)-at >= 8 || !allZero(b[at:]) {
		return PackedInts{}, false
	}
	return p, true
}

// Len returns the number of integers.
func (p PackedInts) Len() int { return p.count }

// AddTo sets each dst[i] to samples[i] plus the integer at index from+i. The view must have
// that many integers, and samples must be at least as long as dst; it may be dst.
func (p PackedInts) AddTo(dst, samples []int64, from int) {
	for len(dst) > 0 {
		block, at := from/packedBlock, from%packedBlock
		n := min(len(dst), packedBlock-at)
		start := p.starts[block]
		width := int(p.b[start])
		addInts(dst[:n], samples[:n], p.b[start+1+at*width:], width)
		dst = dst[n:]
		samples = samples[n:]
		from += n
	}
}

// addInts sets dst to samples plus the integers of width bytes that b begins with.
func addInts(dst, samples []int64, b []byte, width int) {
	n := fixedpoint.AddShort(dst, samples, b, width)
	shift := 64 - 8*width // 64 for width 0: the integers are zero
	for b = b[n*width:]; n < len(dst); n++ {
		var last [8]byte // in place of b where it has fewer than 8 bytes left
		if len(b) < 8 {
			copy(last[:], b)
			b = last[:]
		}
		dst[n] = samples[n] + int64(binary.LittleEndian.Uint64(b))<<shift>>shift
		b = b[width:]
	}
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
