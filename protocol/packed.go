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
	return append(b, make([]byte, packedPadding(len(b)))...)
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
	switch width { // what most sums and updates take, several to a word
	case 2:
		for ; len(v) >= 4 && len(dst) >= 8; v, dst = v[4:], dst[8:] {
			x := (*[4]int64)(v)
			lower := uint64(uint16(x[0])) | uint64(uint16(x[1]))<<16
			upper := uint64(uint16(x[2])) | uint64(uint16(x[3]))<<16
			binary.LittleEndian.PutUint64(dst, lower|upper<<32)
		}
	case 3:
		const low = 1<<24 - 1
		for ; len(v) >= 8 && len(dst) >= 24; v, dst = v[8:], dst[24:] {
			x, to := (*[8]int64)(v), (*[24]byte)(dst)
			third, sixth := uint64(x[2])&low, uint64(x[5])&low
			binary.LittleEndian.PutUint64(to[:], uint64(x[0])&low|uint64(x[1])&low<<24|third<<48)
			binary.LittleEndian.PutUint64(to[8:], third>>16|uint64(x[3])&low<<8|uint64(x[4])&low<<32|sixth<<56)
			binary.LittleEndian.PutUint64(to[16:], sixth>>8|uint64(x[6])&low<<16|uint64(x[7])<<40)
		}
	}
	for _, x := range v { // each word's upper bytes are overwritten by the next one
		binary.LittleEndian.PutUint64(dst, uint64(x))
		dst = dst[width:]
	}
}

// IntWidth is how many bytes two's complement takes for the widest; 0 for zeros only.
func IntWidth(v []int64) int { return (intBits(v) + 7) / 8 }

// intBits is how many bits two's complement takes for the widest; 0 for zeros only. The
// highest bit of x that differs from the one below it is the sign's lowest.
func intBits(v []int64) int {
	var turns, more uint64
	i := 0
	for ; i <= len(v)-4; i += 4 {
		x := v[i : i+4 : i+4]
		turns |= uint64(x[0]^x[0]<<1) | uint64(x[1]^x[1]<<1)
		more |= uint64(x[2]^x[2]<<1) | uint64(x[3]^x[3]<<1)
	}
	for _, x := range v[i:] {
		turns |= uint64(x ^ x<<1)
	}
	return bits.Len64(turns | more)
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
