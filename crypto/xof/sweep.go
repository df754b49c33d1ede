package xof

import (
	"crypto/cipher"

	"choir/crypto/field"
)

// Sweep walks over the same chunk of several streams at once, some elements at a time:
// a window of the destination is combined with all of them while it is in the
// first-level cache, and need not exist before or after. One goroutine uses it.
type Sweep struct {
	counters []cipher.Stream
	buf      scratch
	left     int // elements until the chunk's end
}

// NewSweep begins at the first element of the chunk.
func NewSweep(chunk uint64, streams []*Stream) *Sweep {
	s := &Sweep{counters: make([]cipher.Stream, len(streams)), left: ChunkElements}
	for i, stream := range streams {
		s.counters[i] = stream.counter(chunk)
	}
	return s
}

// AddTo adds the next len(dst) elements of each stream to dst. It panics at the end of
// the chunk.
func (s *Sweep) AddTo(dst field.Vector) { s.each(dst, field.Vector.AddWords) }

// SubFrom subtracts the next len(dst) elements of each stream from dst. It panics at
// the end of the chunk.
func (s *Sweep) SubFrom(dst field.Vector) { s.each(dst, field.Vector.SubWords) }

func (s *Sweep) each(dst field.Vector, do combine) {
	if s.left -= len(dst); s.left < 0 {
		panic("xof: more elements than a chunk has")
	}
	for _, ctr := range s.counters {
		run(dst, &s.buf, ctr, do)
	}
}
