package share

import (
	"choir/crypto/field"
	"choir/crypto/xof"
)

// ExplicitIndex returns which of the nodes, in 0..nodes-1, receives the explicit
// vector of a party in a round. It rotates by one from party to party and from
// round to round: in any round, any two nodes' numbers of explicit vectors differ
// by at most one when all parties 0..N-1 contribute. party and round count from 0,
// or from anywhere above; nodes is at least 1. Anything else panics.
func ExplicitIndex(party, round, nodes int) int {
	if party < 0 || round < 0 || nodes < 1 {
		panic("share: party and round must not be negative, nodes must be positive")
	}
	// Each below nodes first, for the sum can't overflow then.
	return int((uint(party%nodes) + uint(round%nodes)) % uint(nodes))
}

// Explicit turns x, in place, into the explicit share: x minus the expansions of the
// other nodes' streams, one a node. It panics without other streams, since what it
// would return is the secret itself.
func Explicit(x field.Vector, others []*xof.Stream) {
	for c := range chunks(x) {
		ExplicitChunk(xof.Chunk(x, c), c, others)
	}
}

// ExplicitChunk does the same for one chunk: x holds the elements of that chunk
// only, at most xof.ChunkElements.
func ExplicitChunk(x field.Vector, chunk uint64, others []*xof.Stream) {
	if len(others) == 0 {
		panic("share: an explicit share without other shares is the secret itself")
	}
	for _, s := range others {
		s.SubFrom(x, chunk)
	}
}

// AddSeed adds a seed node's share of a vector of len(acc) elements to the node's
// accumulator.
func AddSeed(acc field.Vector, s *xof.Stream) {
	for c := range chunks(acc) {
		s.AddTo(xof.Chunk(acc, c), c)
	}
}

// SubSeed takes a seed node's share out of its accumulator again, for a party that
// the agreed set leaves out.
func SubSeed(acc field.Vector, s *xof.Stream) {
	for c := range chunks(acc) {
		s.SubFrom(xof.Chunk(acc, c), c)
	}
}

// Combine sets dst to the sum of the partial sums, one from each node, all as long as
// dst. The sum of none is zero. dst must not overlap any of them.
func Combine(dst field.Vector, partials ...field.Vector) {
	clear(dst)
	for _, p := range partials {
		dst.Add(p)
	}
}

// chunks returns the number of chunks of v, for ranging over their indices.
func chunks(v field.Vector) uint64 {
	return uint64(xof.Chunks(len(v)))
}
