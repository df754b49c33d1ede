package share

import (
	"choir/crypto/field"
	"choir/crypto/parallel"
	"choir/crypto/xof"
)

// worthwhile is how many elements of keystream, about a third of a millisecond's, are
// worth a core of their own and the sum of its private accumulator at the end.
const worthwhile = 1 << 17

// merge has into work every chunk of the streams into acc's. A vector of fewer chunks
// than there are cores is not enough work to share: then groups of streams go into
// accumulators of their own, which are added up at the end. That changes the order of
// additions, and addition in the field has no order: the result is the same.
func merge(acc field.Vector, streams []*xof.Stream, into func(field.Vector, uint64, []*xof.Stream)) {
	chunks := xof.Chunks(len(acc))
	if chunks == 0 || len(streams) == 0 {
		return
	}
	groups := groupsOf(len(acc), chunks, len(streams))
	private := make([]field.Vector, chunks*groups) // nil for each chunk's first group
	parallel.Do(chunks*groups, func(task int) {
		c, g := uint64(task/groups), task%groups
		part := xof.Chunk(acc, c)
		if g > 0 {
			private[task] = make(field.Vector, len(part))
			part = private[task]
		}
		into(part, c, streams[g*len(streams)/groups:(g+1)*len(streams)/groups])
	})
	for task, v := range private {
		if v != nil {
			xof.Chunk(acc, uint64(task/groups)).Add(v)
		}
	}
}

// groupsOf is how many groups the streams of one chunk are cut into: as many as keep
// all cores busy and are worth it, never more than there are streams.
func groupsOf(elements, chunks, streams int) int {
	work := elements / chunks * streams
	return max(1, min(parallel.Workers(1<<16)/chunks, streams, work/worthwhile))
}
