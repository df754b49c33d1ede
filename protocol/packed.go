package protocol

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A member stores its model packed: the integers of a model fit into a few bytes each,
// and a store then has that much less to write. Packed are
//
//	u64 count, little endian
//	for each 4096 integers: u8 width, 0 to 8; width bytes each, little endian, two's complement
//	zeros up to a length that leaves 1 when it is divided by 8
//
// so that the length tells it from what AppendInts writes, which earlier versions stored.
const packedBlock = 4096

// PackInts packs integers, in one pass over them.
func PackInts(v []int64) []byte {
	first := IntWidth(v[:min(len(v), packedBlock)]) // what most blocks take
	b := make([]byte, 0, 32+len(v)/packedBlock+len(v)*first)
	for b = binary.LittleEndian.AppendUint64(b, uint64(len(v))); len(v) > 0; v = v[min(len(v), packedBlock):] {
		b = packBlock(b, v[:min(len(v), packedBlock)])
	}
	for len(b)%8 != 1 {
		b = append(b, 0)
	}
	return b
}

func packBlock(b []byte, block []int64) []byte {
	width := IntWidth(block)
	start, size := len(b)+1, len(block)*width
	b = append(slices.Grow(b, 1+size+8), byte(width))
	words := b[start : start+size+8]
	for _, x := range block { // each word's upper bytes are overwritten by the next one
		binary.LittleEndian.PutUint64(words, uint64(x))
		words = words[width:]
	}
	return b[:start+size]
}

// IntWidth is how many bytes two's complement takes for the widest; 0 for zeros only.
func IntWidth(v []int64) int {
	var some, bitsOf uint64
	for _, x := range v {
		some |= uint64(x)
		bitsOf |= uint64(x ^ x>>63)
	}
	if some == 0 {
		return 0
	}
	return bits.Len64(bitsOf)/8 + 1
}

// UnpackInts decodes what PackInts, or AppendInts, encoded, up to MaxDim integers; ok is
// false for anything else.
func UnpackInts(b []byte) (v []int64, ok bool) {
	if len(b)%8 == 0 {
		return Ints(b)
	}
	if len(b)%8 != 1 || len(b) < 9 {
		return nil, false
	}
	count := binary.LittleEndian.Uint64(b)
	if count > MaxDim || count > uint64(len(b))*packedBlock {
		return nil, false
	}
	v, b = make([]int64, count), b[8:]
	for at := 0; at < len(v); at += packedBlock {
		if b, ok = unpackBlock(v[at:min(len(v), at+packedBlock)], b); !ok {
			return nil, false
		}
	}
	return v, len(b) < 8 && allZero(b)
}

func unpackBlock(dst []int64, b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] > 8 || len(b)-1 < len(dst)*int(b[0]) {
		return nil, false
	}
	width := int(b[0])
	b = b[1:]
	shift := 64 - 8*width // 64 for width 0: nothing is left
	for i := range dst {
		var word [8]byte
		copy(word[:], b[i*width:(i+1)*width])
		dst[i] = int64(binary.LittleEndian.Uint64(word[:])) << shift >> shift
	}
	return b[len(dst)*width:], IntWidth(dst) == width
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
