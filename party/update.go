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

// packOutbox packs an update into an outbox that lacks its seed, in room if that is large enough,
// and tells whether the update's L2 norm is at most bound.
func packOutbox(room []byte, update []int64, bound uint64) (outbox []byte, within bool) {
	var header [outboxHeader]byte
	outbox, squares := appendPacked(append(room[:0], header[:]...), update)
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

// appendPacked packs an update and takes its norm, in one pass: it is as wide as what it has
// seen, and begins again with a wider one, seldom more than once, since most blocks are alike.
func appendPacked(dst []byte, update []int64) ([]byte, fixedpoint.Squares) {
	start, width := len(dst), protocol.IntWidth(update[:min(blockElements, len(update))])
	for {
		size := len(update) * width
		dst = append(slices.Grow(dst[:start], 1+size+8), byte(width))
		words := dst[start+1:][:size+8]
		squares, wider := packAs(words, update, width)
		if wider == width {
			clear(words[size:])
			return dst[:start+packedSize(len(update), width)], squares
		}
		width = wider
	}
}

// packAs packs an update block by block, up to one that takes more bytes a coordinate, and
// returns how many that one takes.
func packAs(words []byte, update []int64, width int) (squares fixedpoint.Squares, wider int) {
	for len(update) > 0 {
		block := update[:min(blockElements, len(update))]
		if sum, ok := fixedpoint.PackShort(words, block, width); ok {
			squares.AddSum(sum)
		} else if wider = protocol.IntWidth(block); wider > width {
			return squares, wider
		} else {
			protocol.PutInts(words, block, width)
			squares.Add(block)
		}
		update, words = update[len(block):], words[len(block)*width:]
	}
	return squares, width
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

// addPacked sets dst to the samples with the coordinates of a stored update from the given
// one on. There are as many samples, or more, and dst may be their front. It refuses what
// appendPacked doesn't write for an update of dim coordinates.
func addPacked(dst, samples []int64, packed []byte, dim, from int) error {
	if len(packed) == 0 || packed[0] > 8 {
		return fmt.Errorf("the stored update has no width")
	}
	samples = samples[:len(dst)]
	width := int(packed[0])
	if width == 0 && len(packed) == 1 {
		copy(dst, samples)
		return nil
	}
	if width == 0 || len(packed) != packedSize(dim, width) {
		return fmt.Errorf("the stored update has %d bytes for %d coordinates of %d", len(packed), dim, width)
	}
	words, sign := packed[1+from*width:], uint64(1)<<(8*width-1)
	n := fixedpoint.AddShort(dst, samples, words, width)
	words, samples, dst = words[n*width:], samples[n:], dst[n:]
	for i, s := range samples { // the lowest bytes, whose sign bit stands for what is above them
		x := binary.LittleEndian.Uint64(words) & (sign<<1 - 1)
		dst[i] = s + int64((x^sign)-sign)
		words = words[width:]
	}
	return nil
}
