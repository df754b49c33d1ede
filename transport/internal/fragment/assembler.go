package fragment

import "slices"

// Bounds of an Assembler. When one is reached, the message whose first piece is oldest is
// dropped: its sender retransmits it like any message that a broker loses.
const (
	// maxIncomplete is the largest number of messages of which pieces are missing.
	maxIncomplete = 256
	// maxBuffered bounds all their pieces, in bytes: four of the largest messages.
	maxBuffered = 256 << 20
	// maxAge is how many positions may pass after a message's latest piece before
	// the message counts as lost.
	maxAge = 1 << 18
	// remembered is the number of complete messages whose IDs are kept, so that a duplicate
	// piece does not begin its message again.
	remembered = 1024
)

// Assembler assembles the messages of one subscription. The zero value is ready. It is not for
// concurrent use.
type Assembler struct {
	parts    map[key]*partial
	order    []*partial // in order of their first pieces
	buffered int
	done     map[key]bool
	ring     []key // the keys of done, a ring buffer
	oldest   int   // of ring
}

// key identifies a message: the same ID on another subject is another message.
type key struct {
	subject string
	id      ID
}

type partial struct {
	key
	pieces  [][]byte
	missing int
	size    int
	first   uint64 // position of the piece that arrived first
	latest  uint64
}

// Add adds the piece at a position, which must not be smaller than that of the call before. If
// it was the last missing piece, Add returns the whole message. A piece that does not fit its
// header, contradicts the pieces before or duplicates one is dropped: the first with an index
// counts. Add keeps piece and does not change it.
func (a *Assembler) Add(
	subject string, h Header, position uint64, piece []byte,
) (message []byte, whole bool) {
	k := key{subject, h.ID}
	if !h.valid() || !h.fits(piece) || a.done[k] {
		return nil, false
	}
	a.expire(position)
	p := a.parts[k]
	if p == nil {
		p = a.begin(k, h.Count, position)
	}
	if len(p.pieces) != h.Count || p.pieces[h.Index] != nil {
		return nil, false
	}
	a.makeRoom(p, len(piece))
	p.pieces[h.Index] = piece
	p.missing--
	p.size += len(piece)
	p.latest = position
	a.buffered += len(piece)
	if p.missing > 0 {
		return nil, false
	}
	a.drop(p)
	a.remember(k)
	return slices.Concat(p.pieces...), true
}

// Resume returns the position from which a subscription that has read everything up to position
// can start again without missing anything: the next one, or that of the first piece of an
// incomplete message. It never decreases.
func (a *Assembler) Resume(position uint64) uint64 {
	a.expire(position)
	if len(a.order) > 0 {
		return min(a.order[0].first, position+1)
	}
	return position + 1
}

func (a *Assembler) begin(k key, count int, position uint64) *partial {
	if a.parts == nil {
		a.parts = map[key]*partial{}
		a.done = map[key]bool{}
	}
	if len(a.order) == maxIncomplete {
		a.drop(a.order[0])
	}
	p := &partial{key: k, pieces: make([][]byte, count), missing: count, first: position, latest: position}
	a.parts[k] = p
	a.order = append(a.order, p)
	return p
}

// makeRoom drops the oldest messages, except keep, until n more bytes fit.
func (a *Assembler) makeRoom(keep *partial, n int) {
	for i := 0; a.buffered+n > maxBuffered && i < len(a.order); {
		if a.order[i] == keep {
			i++
			continue
		}
		a.drop(a.order[i])
	}
}

// expire drops the messages that are too old to be completed.
func (a *Assembler) expire(position uint64) {
	for len(a.order) > 0 && position > a.order[0].latest+maxAge {
		a.drop(a.order[0])
	}
}

func (a *Assembler) drop(p *partial) {
	delete(a.parts, p.key)
	a.order = slices.DeleteFunc(a.order, func(q *partial) bool { return q == p })
	a.buffered -= p.size
}

func (a *Assembler) remember(k key) {
	if len(a.ring) < remembered {
		a.ring = append(a.ring, k)
	} else {
		delete(a.done, a.ring[a.oldest])
		a.ring[a.oldest] = k
		a.oldest = (a.oldest + 1) % remembered
	}
	a.done[k] = true
}
