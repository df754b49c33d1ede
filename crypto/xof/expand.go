package xof

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"choir/crypto/field"
)

// batch is the number of elements that are expanded at a time: enough to keep AES and the
// addition busy (256 are too few, 1024 are no faster), and few enough for scratch to stay in the
// first-level cache.
const batch = 512

// scratch is the keystream of one batch, which is secret and wiped after use, and the zeros that
// are encrypted to produce it.
type scratch struct {
	words [batch * field.ElementSize]byte
	zeros [batch * field.ElementSize]byte // never written to
}

// combine applies the words of a stream to the front of a destination: one of the methods of
// field.Vector. It stops at a word that is not an element.
type combine func(dst field.Vector, words []byte) int

// set, add and sub return these methods.
func set() combine { return field.Vector.SetWords }
func add() combine { return field.Vector.AddWords }
func sub() combine { return field.Vector.SubWords }

// cursor is a position in a chunk of a stream.
type cursor struct{ ctr cipher.Stream }

// at returns a cursor at the beginning of a chunk.
func (s *Stream) at(chunk uint64) cursor { return cursor{s.counter(chunk, 0)} }

// expand combines dst with the first len(dst) elements of the chunk.
func (s *Stream) expand(dst field.Vector, chunk uint64, buf *scratch, do combine) {
	if len(dst) > ChunkElements {
		panic("xof: more elements than a chunk has")
	}
	s.at(chunk).combine(dst, buf, do)
}

// counter returns the keystream of a chunk, starting with the given block.
func (s *Stream) counter(chunk, block uint64) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:8], chunk)
	binary.BigEndian.PutUint64(iv[8:], block)
	return cipher.NewCTR(s.block, iv[:])
}

// combine combines dst with the next elements, and wipes the keystream.
func (c cursor) combine(dst field.Vector, buf *scratch, do combine) {
	c.overwriting(dst, buf, do)
	clear(buf.words[:wordsOf(dst)])
}

// wordsOf returns the greatest number of bytes of keystream in scratch after a combination with
// dst.
func wordsOf(dst field.Vector) int { return min(batch, len(dst)) * field.ElementSize }

// overwriting is combine without wiping scratch, which the caller does. It generates exactly as
// many words as elements are missing, so that no word is lost at the end.
func (c cursor) overwriting(dst field.Vector, buf *scratch, do combine) {
	for len(dst) > 0 {
		n := wordsOf(dst)
		c.ctr.XORKeyStream(buf.words[:n], buf.zeros[:n])
		dst = dst[accept(dst, buf.words[:n], do):]
	}
}

// accept combines the front of dst with the words of the keystream that are below p,
// in order, and returns their number. dst is at least as long as words.
func accept(dst field.Vector, words []byte, do combine) (taken int) {
	for {
		n := do(dst[taken:], words)
		taken += n
		if words = words[n*field.ElementSize:]; len(words) == 0 {
			return taken
		}
		words = words[field.ElementSize:] // skip a word that is p or more
	}
}
