package party

import (
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// Room is the memory that making a contribution takes: its messages, its noise, what it is
// stored as and what making a chunk needs. Parties in one process that contribute one after
// the other may be given the same, and none of it is allocated, and cleared by the system,
// for each of them anew. The zero value is ready. One party at a time uses it.
//
// Whoever gives a party a Room promises to be through with every message of a
// contribution, and with the record that the party stored it as, before that party, or another
// one with the same Room, makes its next: a party that began another life from a store that
// shares that record's memory would take another's contribution for its own.
type Room struct {
	cores    []scratch
	noise    []int64  // a contribution's
	of       *drawn   // which one's
	messages [][]byte // by chunk
	outbox   []byte
}

// scratch is what making a chunk takes beside the message that it becomes.
type scratch struct {
	samples  []int64                   // a chunk's noise, when it wasn't drawn ahead
	noised   [2 * windowElements]int64 // two coordinates in an element at the most
	x        [windowElements]field.Element
	sum      *protocol.ChunkHash
	explicit xof.Sweep
}

// windowElements is how many elements are made at a time: few enough for every step
// to find them in the first-level cache.
const windowElements = 512

// forCores makes room for so many cores.
func (r *Room) forCores(n int) {
	for len(r.cores) < n {
		r.cores = append(r.cores, scratch{sum: protocol.NewChunkHash()})
	}
}

// forMessages makes places for so many messages.
func (r *Room) forMessages(n int) {
	for len(r.messages) < n {
		r.messages = append(r.messages, nil)
	}
}

// forOutbox is a place to append an outbox to; keepOutbox takes it back, grown.
func (r *Room) forOutbox() []byte {
	if r == nil {
		return nil
	}
	return r.outbox[:0]
}

func (r *Room) keepOutbox(b []byte) {
	if r != nil {
		r.outbox = b
	}
}

// forNoise is a place for so many samples; fresh when r is nil. Whoever had the place before
// has lost it.
func (r *Room) forNoise(of *drawn, n int) []int64 {
	if r == nil {
		return make([]int64, n)
	}
	r.of = of
	if cap(r.noise) < n {
		r.noise = make([]int64, n)
	}
	return r.noise[:n]
}

// has reports that the place for noise is still the one's that asks. Noise that another
// party has drawn over it would stand in two contributions, and in neither again when it is
// sent again: so nobody takes it for granted.
func (r *Room) has(d *drawn) bool { return r == nil || r.of == d }
