package share

import (
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/parallel"
)

// ExplicitIndex returns the index of the node, in 0..nodes-1, that receives the explicit
// share of a party in a round. It advances by one from party to party and from
// round to round: if all parties 0..N-1 contribute to a round, the numbers of explicit shares of
// any two nodes differ by at most one. It panics if party or round is negative, or nodes is not
// positive.
func ExplicitIndex(party, round, nodes int) int {
	if party < 0 || round < 0 || nodes < 1 {
		panic("share: party and round must not be negative, nodes must be positive")
	}
	// Both are reduced first, so that the sum cannot overflow.
	return int((uint(party%nodes) + uint(round%nodes)) % uint(nodes))
}

// Explicit replaces x by the explicit share: x minus the expansions of the streams of the other
// nodes, one stream a node. It panics without other streams, since the result would be the secret.
func Explicit(x field.Vector, others []*xof.Stream) {
	mustHave(others)
	parallel.Do(xof.Chunks(len(x)), func(c int) {
		explicitChunk(xof.Chunk(x, uint64(c)), uint64(c), others)
	})
}

// explicitChunk is [Explicit] for one chunk: x has only the elements of that chunk, at most
// xof.ChunkElements.
func explicitChunk(x field.Vector, chunk uint64, others []*xof.Stream) {
	mustHave(others)
	xof.SubAll(x, chunk, others)
}

// ExplicitWindows is [explicitChunk] for windows of a chunk. It begins a sweep, which may have been
// used before, whose SubFrom replaces the next elements of the chunk by those of the explicit share.
func ExplicitWindows(sweep *xof.Sweep, chunk uint64, others []*xof.Stream) {
	mustHave(others)
	sweep.Begin(chunk, others)
}

func mustHave(others []*xof.Stream) {
	if len(others) == 0 {
		panic("share: an explicit share without other shares is the secret")
	}
}

// SubSeeds subtracts the shares of a seed node from the accumulator, for parties that are not in the
// agreed set.
func SubSeeds(acc field.Vector, streams ...*xof.Stream) {
	new(Adder).merge(acc, streams, xof.SubAll)
}
