package xof

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"choir/crypto/field"
)

// batch is how many elements are expanded at a time: enough to keep AES busy (128
// are too few, 1024 are no faster), and few enough for all of scratch to stay in the
// first-level cache and to cost little where a stream serves a short vector once.
const batch = 256

// scratch is the keystream of one batch; it is secret and wiped after use.
type scratch [batch * field.ElementSize]byte

// combine is what happens to an element of a destination and the stream's element
// for its place: fours does it for whole groups of four words from the front, one for
// a single element. Both are given, and not one in terms of the other, because the
// groups run more than twice as fast.
type combine struct {
	fours func(dst field.Vector, keystream []byte) int
	one   func(have, next field.Element) field.Element
}

func set() combine {
	return combine{setFours, func(_, next field.Element) field.Element { return next }}
}

func add() combine { return combine{addFours, field.Add} }

func sub() combine { return combine{subFours, field.Sub} }

// expand combines dst with the first len(dst) elements of the chunk.
func (s *Stream) expand(dst field.Vector, chunk uint64, buf *scratch, do combine) {
	if len(dst) > ChunkElements {
		panic("xof: more elements than a chunk has")
	}
	run(dst, buf, s.counter(chunk), do)
}

// counter returns the keystream of a chunk from its beginning.
func (s *Stream) counter(chunk uint64) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:8], chunk)
	return cipher.NewCTR(s.block, iv[:])
}

// run combines dst with the next elements of the keystream. It asks for exactly as
// many words as elements are missing, so that none is lost at the end.
func run(dst field.Vector, buf *scratch, ctr cipher.Stream, do combine) {
	for len(dst) > 0 {
		words := buf[:min(batch, len(dst))*field.ElementSize]
		clear(words)
		ctr.XORKeyStream(words, words)
		dst = dst[accept(dst, words, do):]
	}
	clear(buf[:])
}

// accept combines the front of dst with the words of the keystream that are below p,
// in order, and returns their number. dst has a place for each word.
func accept(dst field.Vector, keystream []byte, do combine) int {
	n := do.fours(dst, keystream)
	for rest := keystream[n*field.ElementSize:]; len(rest) > 0; rest = rest[field.ElementSize:] {
		if e, ok := field.New(binary.LittleEndian.Uint64(rest)); ok {
			dst[n] = do.one(dst[n], e)
			n++
		}
	}
	return n
}

// The three functions below take whole groups of four words, up to the first group
// with a word of p or more, and return how many words they took: all of them but
// the last three or less, except in one chunk of 65536.

func setFours(dst field.Vector, keystream []byte) (n int) {
	for len(dst) >= 4 && len(keystream) >= 4*field.ElementSize {
		out := (*[4]field.Element)(dst)
		a, b, c, d, ok := four((*[4 * field.ElementSize]byte)(keystream))
		if !ok {
			break
		}
		out[0], out[1], out[2], out[3] = a, b, c, d
		dst, keystream, n = dst[4:], keystream[4*field.ElementSize:], n+4
	}
	return n
}

func addFours(dst field.Vector, keystream []byte) (n int) {
	for len(dst) >= 4 && len(keystream) >= 4*field.ElementSize {
		out := (*[4]field.Element)(dst)
		a, b, c, d, ok := four((*[4 * field.ElementSize]byte)(keystream))
		if !ok {
			break
		}
		out[0], out[1] = field.Add(out[0], a), field.Add(out[1], b)
		out[2], out[3] = field.Add(out[2], c), field.Add(out[3], d)
		dst, keystream, n = dst[4:], keystream[4*field.ElementSize:], n+4
	}
	return n
}

func subFours(dst field.Vector, keystream []byte) (n int) {
	for len(dst) >= 4 && len(keystream) >= 4*field.ElementSize {
		out := (*[4]field.Element)(dst)
		a, b, c, d, ok := four((*[4 * field.ElementSize]byte)(keystream))
		if !ok {
			break
		}
		out[0], out[1] = field.Sub(out[0], a), field.Sub(out[1], b)
		out[2], out[3] = field.Sub(out[2], c), field.Sub(out[3], d)
		dst, keystream, n = dst[4:], keystream[4*field.ElementSize:], n+4
	}
	return n
}

// four reads four words and tells whether all of them are elements.
func four(in *[4 * field.ElementSize]byte) (a, b, c, d field.Element, ok bool) {
	w, x := binary.LittleEndian.Uint64(in[0:]), binary.LittleEndian.Uint64(in[8:])
	y, z := binary.LittleEndian.Uint64(in[16:]), binary.LittleEndian.Uint64(in[24:])
	ok = w < field.Modulus && x < field.Modulus && y < field.Modulus && z < field.Modulus
	return field.Element(w), field.Element(x), field.Element(y), field.Element(z), ok
}
