package share

import (
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/parallel"
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
	mustHave(others)
	parallel.Do(xof.Chunks(len(x)), func(c int) { ExplicitChunk(xof.Chunk(x, uint64(c)), uint64(c), others) })
}

// ExplicitChunk does the same for one chunk: x holds the elements of that chunk
// only, at most xof.ChunkElements.
func ExplicitChunk(x field.Vector, chunk uint64, others []*xof.Stream) {
	mustHave(others)
	xof.SubAll(x, chunk, others)
}

// ExplicitWindows does the same window by window, with a sweep that may have been in use
// before: its SubFrom turns the next elements of the chunk into those of the explicit share.
func ExplicitWindows(sweep *xof.Sweep, chunk uint64, others []*xof.Stream) {
	mustHave(others)
	sweep.Begin(chunk, others)
}

func mustHave(others []*xof.Stream) {
	if len(others) == 0 {
		panic("share: an explicit share without other shares is the secret itself")
	}
}

// AddSeeds adds seed nodes' shares of vectors of len(acc) elements, one a stream, to
// the node's accumulator. It uses all cores, over the vector's chunks or, when it has
// few, over the streams: many short vectors are best added many at a time.
func AddSeeds(acc field.Vector, streams ...*xof.Stream) {
	new(Adder).merge(acc, streams, xof.AddAll)
}

// SubSeeds takes seed nodes' shares out of the accumulator again, for parties that
// the agreed set leaves out.
func SubSeeds(acc field.Vector, streams ...*xof.Stream) {
	new(Adder).merge(acc, streams, xof.SubAll)
}

// Combine sets dst to the sum of the partial sums, one from each node, all as long as
// dst. The sum of none is zero. dst must not overlap any of them.
func Combine(dst field.Vector, partials ...field.Vector) {
	clear(dst)
	for _, p := range partials {
		dst.Add(p)
	}
}
