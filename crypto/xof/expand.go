package xof

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"choir/crypto/field"
)

// batch is how many elements are expanded at a time: enough to keep AES and the
// addition busy (256 are too few, 1024 are no faster), and few enough for all of scratch
// to stay in the first-level cache.
const batch = 512

// scratch is the keystream of one batch, which is secret and wiped after use, and the
// zeros that it is the encryption of.
type scratch struct {
	words [batch * field.ElementSize]byte
	zeros [batch * field.ElementSize]byte // never written to
}

// combine is what happens to the front of a destination and the stream's words for it:
// one of field's functions on words. It stops at a word that is no element.
type combine func(dst field.Vector, words []byte) int

// set, add and sub are the three.
func set() combine { return field.Vector.SetWords }
func add() combine { return field.Vector.AddWords }
func sub() combine { return field.Vector.SubWords }

// cursor is a place in a chunk of a stream.
type cursor struct{ ctr cipher.Stream }

// at is a cursor at a chunk's beginning.
func (s *Stream) at(chunk uint64) cursor { return cursor{s.counter(chunk, 0)} }

// expand combines dst with the first len(dst) elements of the chunk.
func (s *Stream) expand(dst field.Vector, chunk uint64, buf *scratch, do combine) {
	if len(dst) > ChunkElements {
		panic("xof: more elements than a chunk has")
	}
	s.at(chunk).combine(dst, buf, do)
}

// counter returns the keystream of a chunk from a block of it on.
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

// wordsOf is how many bytes of keystream are in scratch at the most after a combination
// with dst.
func wordsOf(dst field.Vector) int { return min(batch, len(dst)) * field.ElementSize }

// overwriting is combine for a scratch that the next use, or the caller, wipes. It asks
// for exactly as many words as elements are missing, so that none is lost at the end.
func (c cursor) overwriting(dst field.Vector, buf *scratch, do combine) {
	for len(dst) > 0 {
		n := wordsOf(dst)
		c.ctr.XORKeyStream(buf.words[:n], buf.zeros[:n])
		dst = dst[accept(dst, buf.words[:n], do):]
	}
}

// accept combines the front of dst with the words of the keystream that are below p,
// in order, and returns their number. dst has a place for each word.
func accept(dst field.Vector, words []byte, do combine) (taken int) {
	for {
		n := do(dst[taken:], words)
		taken += n
		if words = words[n*field.ElementSize:]; len(words) == 0 {
			return taken
		}
		words = words[field.ElementSize:] // it is p or more: skipped
	}
}
