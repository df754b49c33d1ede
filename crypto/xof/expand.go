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

// operation is a combine, and the same for groups of elements whose keystream is made
// on the way, where there is such a function.
type operation struct {
	words  combine
	groups func(v *field.Element, key *roundKeys, chunk, block uint64, groups int) int
}

func set() operation { return operation{words: field.Vector.SetWords} }
func add() operation { return operation{field.Vector.AddWords, addKeystreamAVX2} }
func sub() operation { return operation{field.Vector.SubWords, subKeystreamAVX2} }

// group is how many elements an operation's groups have: the words of 8 blocks.
const group = 16

// roundKeys are AES-256's 15 round keys, for functions that don't take a cipher.Block.
type roundKeys [60]uint32

// cursor is a place in a chunk of a stream.
type cursor struct {
	stream *Stream
	chunk  uint64
	word   uint64        // how many words were asked for
	ctr    cipher.Stream // stands there; only where there are no round keys
}

// combine combines dst with the next elements. buf may be nil.
func (c *cursor) combine(dst field.Vector, buf *scratch, do operation) {
	if c.stream.key == nil || do.groups == nil {
		if buf == nil {
			buf = new(scratch)
		}
		if c.ctr == nil {
			c.ctr = c.stream.counter(c.chunk, 0)
		}
		run(dst, buf, c.ctr, do.words)
		return
	}
	for len(dst) > 0 {
		if whole := len(dst) / group; whole > 0 && c.word%2 == 0 {
			n := group * do.groups(&dst[0], c.stream.key, c.chunk, c.word/2, whole)
			if dst, c.word = dst[n:], c.word+uint64(n); len(dst) == 0 {
				return
			}
		}
		dst = dst[c.few(dst, do.words):]
	}
}

// few does it for less than a group, or for a group with a word that is no element, up
// to the end of a block of AES if it can. It returns how many elements it took.
func (c *cursor) few(dst field.Vector, do combine) int {
	skip := int(c.word % 2) // the first half of a block was taken before
	n := min(group-skip, len(dst))
	words := make([]byte, (skip+n)*field.ElementSize, group*field.ElementSize)
	c.stream.counter(c.chunk, c.word/2).XORKeyStream(words, words)
	taken := accept(dst[:n], words[skip*field.ElementSize:], do)
	clear(words)
	c.word += uint64(n)
	return taken
}

// room is what some expansions of a stream share; nil where none is needed.
func room() *scratch {
	if accelerated() {
		return nil
	}
	return new(scratch)
}

// expand combines dst with the first len(dst) elements of the chunk. buf may be nil.
func (s *Stream) expand(dst field.Vector, chunk uint64, buf *scratch, do operation) {
	if len(dst) > ChunkElements {
		panic("xof: more elements than a chunk has")
	}
	c := cursor{stream: s, chunk: chunk}
	c.combine(dst, buf, do)
}

// counter returns the keystream of a chunk from a block of it on.
func (s *Stream) counter(chunk, block uint64) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:8], chunk)
	binary.BigEndian.PutUint64(iv[8:], block)
	return cipher.NewCTR(s.block, iv[:])
}

// run combines dst with the next elements of the keystream. It asks for exactly as
// many words as elements are missing, so that none is lost at the end.
func run(dst field.Vector, buf *scratch, ctr cipher.Stream, do combine) {
	used := min(batch, len(dst)) * field.ElementSize
	for len(dst) > 0 {
		n := min(batch, len(dst)) * field.ElementSize
		ctr.XORKeyStream(buf.words[:n], buf.zeros[:n])
		dst = dst[accept(dst, buf.words[:n], do):]
	}
	clear(buf.words[:used])
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
