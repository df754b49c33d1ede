package party

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
	"choir/protocol"
)

// The outbox's stored form is u32 CRC-32C of the rest; 32 bytes of seed, zeros without
// noise; the packed update. The checksum is for a disk that lies: other bytes than
// before would be sealed under the same key and nonce.

const outboxHeader = 4 + noise.SeedSize

// packOutbox packs an update into an outbox that lacks its seed, and tells whether the
// update's L2 norm is at most bound.
func packOutbox(update []int64, bound uint64) (outbox []byte, within bool) {
	var squares fixedpoint.Squares
	outbox = appendPacked(make([]byte, outboxHeader), update, squares.Add)
	return outbox, squares.AtMost(bound)
}

// completeOutbox gives it the seed, and the checksum.
func completeOutbox(outbox []byte, seed noise.Seed) {
	copy(outbox[4:], seed[:])
	binary.BigEndian.PutUint32(outbox, checksum(outbox))
}

// unmarshalOutbox returns a part of b.
func unmarshalOutbox(b []byte) (seed noise.Seed, packed []byte, err error) {
	if len(b) < outboxHeader || binary.BigEndian.Uint32(b) != checksum(b) {
		return seed, nil, fmt.Errorf("the stored contribution is damaged: %d bytes", len(b))
	}
	return noise.Seed(b[4:outboxHeader]), b[outboxHeader:], nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b[4:], crc32.MakeTable(crc32.Castagnoli)) }

// A packed update is u8 width, 0 to 8; then width bytes a coordinate, little
// endian, two's complement; then zeros up to 8 bytes behind the last coordinate's first,
// so that every coordinate can be read as a whole word. The width is the smallest
// that holds all of them: it is 0 for an update of zeros, and nobody but the party
// sees it.

// appendPacked packs block by block, as wide as what it has seen, and begins again with a
// wider one: seldom more than once, since most blocks are alike. show sees each block once.
func appendPacked(dst []byte, update []int64, show func(block []int64)) []byte {
	start, shown := len(dst), 0
	for width := 0; ; {
		size := len(update) * width
		dst = append(slices.Grow(dst[:start], 1+size+8), byte(width))
		words := dst[start+1:][:size+8]
		at := 0
		for wider := width; at < len(update); at += blockElements {
			block := update[at:min(at+blockElements, len(update))]
			if at >= shown {
				show(block)
				shown = at + len(block)
			}
			if wider = protocol.IntWidth(block); wider > width {
				width = wider
				break
			}
			protocol.PutInts(words[at*width:], block, width)
		}
		if at >= len(update) {
			clear(words[size:])
			return dst[:start+packedSize(len(update), width)]
		}
	}
}

// blockElements is how many coordinates are looked at while they are in the nearest cache.
const blockElements = 2048

// packedSize is the size of a packed update.
func packedSize(dim, width int) int {
	if width == 0 {
		return 1
	}
	return 1 + dim*width + 8 - width
}

// addPacked adds to dst the coordinates of a stored update from the given one on. It
// refuses what appendPacked doesn't write for an update of dim coordinates.
func addPacked(dst []int64, packed []byte, dim, from int) error {
	if len(packed) == 0 || packed[0] > 8 {
		return fmt.Errorf("the stored update has no width")
	}
	width := int(packed[0])
	if width == 0 && len(packed) == 1 {
		return nil
	}
	if width == 0 || len(packed) != packedSize(dim, width) {
		return fmt.Errorf("the stored update has %d bytes for %d coordinates of %d", len(packed), dim, width)
	}
	words, sign := packed[1+from*width:], uint64(1)<<(8*width-1)
	if width == 2 {
		n := addFours(dst, words)
		words, dst = words[2*n:], dst[n:]
	}
	for i := range dst { // the lowest bytes, whose sign bit stands for what is above them
		x := binary.LittleEndian.Uint64(words) & (sign<<1 - 1)
		dst[i] += int64((x ^ sign) - sign)
		words = words[width:]
	}
	return nil
}

// addFours adds to dst coordinates of two bytes, four at a time, and returns how many.
func addFours(dst []int64, words []byte) (n int) {
	for len(dst) >= 4 && len(words) >= 8 {
		four, w := (*[4]int64)(dst), binary.LittleEndian.Uint64(words)
		four[0] += int64(int16(w))
		four[1] += int64(int16(w >> 16))
		four[2] += int64(int16(w >> 32))
		four[3] += int64(int16(w >> 48))
		dst, words, n = dst[4:], words[8:], n+4
	}
	return n
}
