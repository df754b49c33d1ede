package share

import (
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/parallel"
)

// worthwhile is how many elements of keystream, about a third of a millisecond's, are
// worth a core of their own and the sum of its private accumulator at the end.
const worthwhile = 1 << 17

// Adder adds seed nodes' shares as [AddSeeds] does, and keeps the accumulators that this
// takes beside the node's own, for whoever adds again and again: at most one chunk for each
// core but one. The zero value is ready. One goroutine uses it.
type Adder struct {
	private []field.Vector
}

// Add is AddSeeds.
func (a *Adder) Add(acc field.Vector, streams ...*xof.Stream) { a.merge(acc, streams, xof.AddAll) }

// merge has into work every chunk of the streams into acc's. A vector of fewer chunks
// than there are cores is not enough work to share: then groups of streams go into
// accumulators of their own, which are added up at the end. That changes the order of
// additions, and addition in the field has no order: the result is the same.
func (a *Adder) merge(acc field.Vector, streams []*xof.Stream, into func(field.Vector, uint64, []*xof.Stream)) {
	chunks := xof.Chunks(len(acc))
	if chunks == 0 || len(streams) == 0 {
		return
	}
	groups := groupsOf(len(acc), chunks, len(streams))
	private := a.accumulators(chunks * (groups - 1)) // each chunk's first group needs none
	parallel.Do(chunks*groups, func(task int) {
		c, g := uint64(task/groups), task%groups
		part := xof.Chunk(acc, c)
		if g > 0 {
			v := &private[int(c)*(groups-1)+g-1]
			*v = zeros(*v, len(part))
			part = *v
		}
		into(part, c, streams[g*len(streams)/groups:(g+1)*len(streams)/groups])
	})
	for i, v := range private {
		xof.Chunk(acc, uint64(i/(groups-1))).Add(v)
	}
}

// accumulators are so many vectors of any length.
func (a *Adder) accumulators(n int) []field.Vector {
	for len(a.private) < n {
		a.private = append(a.private, nil)
	}
	return a.private[:n]
}

// zeros is a vector of so many zeros, where v is if there is room for them.
func zeros(v field.Vector, n int) field.Vector {
	if cap(v) < n {
		return make(field.Vector, n)
	}
	clear(v[:n])
	return v[:n]
}

// groupsOf is how many groups the streams of one chunk are cut into: as many as keep
// all cores busy and are worth it, never more than there are streams.
func groupsOf(elements, chunks, streams int) int {
	work := elements / chunks * streams
	return max(1, min(parallel.Workers(1<<16)/chunks, streams, work/worthwhile))
}
