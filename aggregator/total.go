package aggregator

import (
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/protocol"
)

// total is the sum of the nodes' partial sums. Chunks are added as they arrive. A chunk that
// has all nodes' parts is decoded and packed as soon as those before it are, so that little
// work is left after the last one, for which all members wait.
type total struct {
	elements field.Vector
	parts    []int // by chunk: how many nodes' chunks are added
	ints     []int64
	packer   *protocol.IntPacker
	packed   int // number of chunks, from the first, in ints and packer
}

func newTotal(elements int) *total {
	return &total{
		elements: make(field.Vector, elements),
		parts:    make([]int, xof.Chunks(elements)),
		ints:     make([]int64, elements),
		packer:   protocol.NewIntPacker(elements),
	}
}

// add adds a node's chunk, in encoded form. It must be called once per node and chunk. A chunk
// that it refuses changes nothing.
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

// end returns the sum's integers, their digest under a key and their packed form. All chunks must have been
// added.
func (t *total) end(key protocol.DigestKey) (ints []int64, d protocol.Digest, packed []byte) {
	d, packed = t.packer.End(key)
	return t.ints, d, packed
}
