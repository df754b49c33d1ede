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

// scratch is what one expansion needs; it holds secrets and is wiped after use.
type scratch struct {
	zeros    [batch * field.ElementSize]byte // never written
	stream   [batch * field.ElementSize]byte
	elements [batch]field.Element
}

// wipe clears what the expansion left behind.
func (b *scratch) wipe() {
	clear(b.stream[:])
	clear(b.elements[:])
}

// expand hands the first n elements of the chunk to use, in order, in parts that
// are valid only during the call; at is the index of a part's first element.
func (s *Stream) expand(n int, chunk uint64, use func(at int, part field.Vector)) {
	if n > ChunkElements {
		panic("xof: more elements than a chunk has")
	}
	buf := s.pool.Get().(*scratch)
	ctr := s.counter(chunk)
	for at := 0; at < n; {
		part := field.Vector(buf.elements[:min(batch, n-at)])
		read(part, buf, ctr)
		use(at, part)
		at += len(part)
	}
	buf.wipe()
	s.pool.Put(buf)
}

// counter returns the keystream of a chunk from its beginning.
func (s *Stream) counter(chunk uint64) cipher.Stream {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[:8], chunk)
	return cipher.NewCTR(s.block, iv[:])
}

// read fills part with the next elements of the keystream. It asks for exactly
// as many words as elements are missing, so that none is lost at the end of a part.
func read(part field.Vector, buf *scratch, ctr cipher.Stream) {
	for len(part) > 0 {
		words := buf.stream[:len(part)*field.ElementSize]
		ctr.XORKeyStream(words, buf.zeros[:len(words)])
		part = part[accept(part, words):]
	}
}

// accept copies the words of the keystream that are below p to the front of dst, in
// order, and returns their number. keystream holds exactly len(dst) words; what
// stands in dst behind the accepted ones is undefined.
func accept(dst field.Vector, keystream []byte) int {
	n := acceptFours(dst, keystream)
	for rest := keystream[n*field.ElementSize:]; len(rest) > 0; rest = rest[field.ElementSize:] {
		if e, ok := field.New(binary.LittleEndian.Uint64(rest)); ok {
			dst[n] = e
			n++
		}
	}
	return n
}

// acceptFours does the same for whole groups of four words, up to the first group
// with a word of p or more, and returns how many words it copied: all of them but
// the last three or less, except in one chunk of 65536. It runs more than
// twice as fast as a word at a time.
func acceptFours(dst field.Vector, keystream []byte) int {
	n := 0
	for len(dst) >= 4 && len(keystream) >= 4*field.ElementSize {
		out, in := (*[4]field.Element)(dst), (*[4 * field.ElementSize]byte)(keystream)
		a := binary.LittleEndian.Uint64(in[0:])
		b := binary.LittleEndian.Uint64(in[8:])
		c := binary.LittleEndian.Uint64(in[16:])
		d := binary.LittleEndian.Uint64(in[24:])
		if a >= field.Modulus || b >= field.Modulus || c >= field.Modulus || d >= field.Modulus {
			break
		}
		out[0], out[1], out[2], out[3] = field.Element(a), field.Element(b), field.Element(c), field.Element(d)
		dst, keystream, n = dst[4:], keystream[4*field.ElementSize:], n+4
	}
	return n
}
