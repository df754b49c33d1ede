package share

import (
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/parallel"
)

// worthwhile is the number of elements of keystream, about a third of a millisecond, that
// justify another core and the addition of its private accumulator at the end.
const worthwhile = 1 << 17

// Adder adds the shares of a seed node to its accumulator. It keeps private accumulators for the next
// call: at most one chunk for each core but one. The zero value is ready to use. An Adder must not be
// used by several goroutines at the same time.
type Adder struct {
	private []field.Vector
}

// Add adds shares of len(acc) elements, one a stream, to acc. It uses all cores: they divide the chunks
// or, if there are few, the streams. Short vectors are therefore best added many at a time.
func (a *Adder) Add(acc field.Vector, streams ...*xof.Stream) { a.merge(acc, streams, xof.AddAll) }

// merge applies into to every chunk of acc and the streams. If the vector has fewer chunks than
// there are cores, groups of streams are applied to private accumulators, which are added up at
// the end. The order of additions in the field does not change the sum.
func (a *Adder) merge(
	acc field.Vector, streams []*xof.Stream, into func(field.Vector, uint64, []*xof.Stream),
) {
	chunks := xof.Chunks(len(acc))
	if chunks == 0 || len(streams) == 0 {
		return
	}
	groups := groupsOf(len(acc), chunks, len(streams))
	private := a.accumulators(chunks * (groups - 1)) // the first group of each chunk needs none
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

// accumulators returns n vectors of any length.
func (a *Adder) accumulators(n int) []field.Vector {
	for len(a.private) < n {
		a.private = append(a.private, nil)
	}
	return a.private[:n]
}

// zeros returns a vector of n zeros, in v if its capacity suffices.
func zeros(v field.Vector, n int) field.Vector {
	if cap(v) < n {
		return make(field.Vector, n)
	}
	clear(v[:n])
	return v[:n]
}

// groupsOf returns the number of groups into which the streams of one chunk are divided: as many
// as keep all cores busy and are worthwhile, at most one a stream.
func groupsOf(elements, chunks, streams int) int {
	work := elements / chunks * streams
	return max(1, min(parallel.Workers(1<<16)/chunks, streams, work/worthwhile))
}
