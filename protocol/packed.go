package protocol

import (
	"encoding/binary"
	"slices"

	"choir/crypto/fixedpoint"
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
	b := make([]byte, 0, 8+packedRoom(len(v), v[:min(len(v), packedBlock)]))
	for b = binary.LittleEndian.AppendUint64(b, uint64(len(v))); len(v) > 0; v = v[min(len(v), packedBlock):] {
		b = packBlock(b, v[:min(len(v), packedBlock)])
	}
	return append(b, make([]byte, packedPadding(len(b)))...)
}

// packedRoom is about what so many integers take that begin with the given ones.
func packedRoom(count int, first []int64) int {
	return 24 + count/packedBlock + count*IntWidth(first)
}

// packedPadding is how many zeros end a packed form of so many bytes.
func packedPadding(size int) int { return (9 - size%8) % 8 }

func packBlock(b []byte, block []int64) []byte {
	width := IntWidth(block)
	start, size := len(b)+1, len(block)*width
	b = append(slices.Grow(b, 1+size+8), byte(width))
	PutInts(b[start:start+size+8], block, width)
	return b[:start+size]
}

// PutInts writes integers to dst, in the lowest width bytes of each, 0 to 8, little endian
// and in two's complement: all of it where IntWidth says no more than width. dst has room
// for 8 bytes more than that takes, of which some are overwritten.
func PutInts(dst []byte, v []int64, width int) {
	if _, ok := fixedpoint.PackShort(dst, v, width); ok { // what most sums and updates take
		return
	}
	for _, x := range v { // each word's upper bytes are overwritten by the next one
		binary.LittleEndian.PutUint64(dst, uint64(x))
		dst = dst[width:]
	}
}

// IntWidth is how many bytes two's complement takes for the widest; 0 for zeros only.
func IntWidth(v []int64) int { return (fixedpoint.Bits(v) + 7) / 8 }

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
