package xof

import "choir/crypto/field"

// Sweep walks over the same chunk of several streams at once, some elements at a time:
// a window of the destination is combined with all of them while it is in the
// first-level cache, and need not exist before or after. One goroutine uses it.
type Sweep struct {
	cursors []cursor
	buf     *scratch
	left    int // elements until the chunk's end
}

// NewSweep begins at the first element of the chunk.
func NewSweep(chunk uint64, streams []*Stream) *Sweep {
	s := &Sweep{cursors: make([]cursor, len(streams)), buf: new(scratch), left: ChunkElements}
	for i, stream := range streams {
		s.cursors[i] = stream.at(chunk)
	}
	return s
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
		s.cursors[i].combine(dst, s.buf, do)
	}
}
