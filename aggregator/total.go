package aggregator

import (
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/protocol"
)

// total is the sum of the nodes' partial sums. Chunks are added as they come; one that has all
// nodes' parts is opened and packed as soon as those before it are, so that little is left to
// do behind the last one, for which everybody waits.
type total struct {
	elements field.Vector
	parts    []int // by chunk: how many nodes' are in
	ints     []int64
	packer   *protocol.IntPacker
	packed   int // how many chunks, from the first one on, ints and packer have
}

func newTotal(elements int) *total {
	return &total{elements: make(field.Vector, elements), parts: make([]int, xof.Chunks(elements)), ints: make([]int64, elements), packer: protocol.NewIntPacker(elements)}
}

// add takes in one of so many nodes' chunk, in encoded form, once. A chunk that it refuses
// changes nothing.
func (t *total) add(chunk int, encoded []byte, nodes int) error {
	if err := xof.Chunk(t.elements, uint64(chunk)).AddEncoded(encoded); err != nil {
		return err
	}
	t.parts[chunk]++
	for t.packed < len(t.parts) && t.parts[t.packed] == nodes {
		sum := xof.Chunk(t.elements, uint64(t.packed))
		ints := t.ints[t.packed*xof.ChunkElements:][:len(sum)]
		fixedpoint.FromField(ints, sum)
		t.packer.Write(ints)
		t.packed++
	}
	return nil
}

// end returns the sum's integers, their digest and their packed form, once every chunk is
// there.
func (t *total) end() (ints []int64, d protocol.Digest, packed []byte) {
	d, packed = t.packer.End()
	return t.ints, d, packed
}
