package xof

import "choir/crypto/field"

// Sweep combines the same chunk of several streams with a destination, a window of elements at a
// time: a window is combined with all streams while it is in the first-level cache, and need not
// exist before or afterwards. Call [Sweep.Begin] for each chunk. The zero value is at the end of
// a chunk of no streams. A Sweep must not be used by several goroutines at the same time.
type Sweep struct {
	cursors []cursor
	buf     *scratch
	left    int // elements until the end of the chunk
}

// Begin moves to the first element of a chunk of the given streams. It reuses the memory of the
// previous chunk.
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
