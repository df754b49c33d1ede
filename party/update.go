package party

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"choir/crypto/noise"
	"choir/protocol"
)

// The stored form of an outbox is
//
//	u32 CRC-32C of the rest | 32 bytes of seed | the update, packed
//
// The checksum detects a damaged store: with other bytes than before, another plaintext
// would be sealed under the same key and nonce.

const outboxHeader = 4 + noise.SeedSize

// packOutbox returns an outbox without its seed, and reports whether the L2 norm of the
// update is at most bound.
func packOutbox(update []int64, bound uint64) (outbox []byte, within bool) {
	outbox, squares := protocol.AppendPackedInts(make([]byte, outboxHeader), update)
	return outbox, squares.AtMost(bound)
}

// completeOutbox sets the seed and the checksum.
func completeOutbox(outbox []byte, seed noise.Seed) {
	copy(outbox[4:], seed[:])
	binary.BigEndian.PutUint32(outbox, checksum(outbox))
}

// unmarshalOutbox returns the seed and a view of the update's dim coordinates.
func unmarshalOutbox(outbox []byte, dim int) (seed noise.Seed, update protocol.PackedInts, err error) {
	if len(outbox) < outboxHeader || binary.BigEndian.Uint32(outbox) != checksum(outbox) {
		return seed, update, fmt.Errorf("the stored contribution is damaged: %d bytes", len(outbox))
	}
	update, ok := protocol.ViewPackedInts(outbox[outboxHeader:])
	if !ok || update.Len() != dim {
		return seed, update, fmt.Errorf("the stored update does not have %d coordinates", dim)
	}
	return noise.Seed(outbox[4:outboxHeader]), update, nil
}

func checksum(outbox []byte) uint32 {
	return crc32.Checksum(outbox[4:], crc32.MakeTable(crc32.Castagnoli))
}
