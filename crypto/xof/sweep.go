package xof

import "choir/crypto/field"

// Sweep walks over the same chunk of several streams at once, some elements at a time:
// a window of the destination is combined with all of them while it is in the
// first-level cache, and need not exist before or after. One goroutine uses it. The zero
// value is at the end of a chunk of no streams: [Sweep.Begin] sets it to work, as often
// as there are chunks.
type Sweep struct {
	cursors []cursor
	buf     *scratch
	left    int // elements until the chunk's end
}

// Begin goes to the first element of the chunk of these streams, and keeps the room that
// it had before.
func (s *Sweep) Begin(chunk uint64, streams []*Stream) {
	if s.buf == nil {
		s.buf = new(scratch)
	}
	clear(s.cursors)
	s.cursors, s.left = s.cursors[:0], ChunkElements
	for _, stream := range streams {
		s.cursors = append(s.cursors, stream.at(chunk))
	}
}

// AddTo adds the next len(dst) elements of each stream to dst. It panics at the end of
// the chunk.
func (s *Sweep) AddTo(dst field.Vector) { s.each(dst, add()) }

// SubFrom subtracts the next len(dst) elements of each stream from dst. It panics at
// the end of the chunk.
func (s *Sweep) SubFrom(dst field.Vector) { s.each(dst, sub()) }

func (s *Sweep) each(dst field.Vector, do combine) {
	if s.left -= len(dst); s.left < 0 {
		panic("xof: more elements than a chunk has")
	}
	for i := range s.cursors {
		s.cursors[i].overwriting(dst, s.buf, do)
	}
	clear(s.buf.words[:wordsOf(dst)])
}
