package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/zeebo/blake3"

	"choir/crypto/field"
)

// Short things are hashed with SHA-256, under a label and with their lengths; what
// grows with the dimension or the roster with BLAKE3, whose key derivation mode takes
// a context string for each use (docs/decisions/0013-blake3.md).
const (
	chunkContext    = "choir v3 chunk"
	vectorContext   = "choir v3 vector"
	integersContext = "choir v3 integers"
	setContext      = "choir v3 set"
)

// shortDigest is what digest hashes without an allocation, in bytes.
const shortDigest = 768

// digest hashes length-prefixed parts under a label, so that no two uses and no
// two splits of the same bytes collide.
func digest(label string, parts ...[]byte) Digest {
	var room [shortDigest]byte
	b := append(append(append(room[:0], "choir v1 "...), label...), 0)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return Digest(sha256.Sum256(b))
}

func u32bytes(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// SetDigest names the agreed set of an attempt.
func SetDigest(s Session, round, attempt uint32, set []Entry) Digest {
	h := longHash(setContext)
	b := make([]byte, 0, min(hashPiece, 40+entrySize*len(set)))
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append(b, s.ID[:]...), round), attempt)
	for _, e := range set {
		if len(b)+entrySize > hashPiece {
			h.write(b)
			b = b[:0]
		}
		b = append(binary.BigEndian.AppendUint32(b, e.Party), e.Bundle[:]...)
	}
	h.write(b)
	return h.digest()
}

// KeyDigest names a responder's plan key.
func KeyDigest(s Session, owner uint32, public []byte) Digest {
	return digest("key", s.ID[:], u32bytes(owner), public)
}

// ChunkDigest is the digest of one sealed chunk.
func ChunkDigest(ciphertext []byte) Digest { return NewChunkHash().Digest(ciphertext) }

// ChunkHash is ChunkDigest for whoever hashes many: it has 10 KiB of room that each
// call would allocate otherwise. One goroutine uses it.
type ChunkHash struct{ h long }

// NewChunkHash makes the room.
func NewChunkHash() *ChunkHash { return &ChunkHash{longHash(chunkContext)} }

// Digest is the digest of one sealed chunk.
func (c *ChunkHash) Digest(ciphertext []byte) Digest {
	c.h.Reset()
	c.h.write(ciphertext)
	return c.h.digest()
}

// ChunkList is the digest of a sealed vector: of its chunks' digests in order.
func ChunkList(chunks []Digest) Digest {
	b := make([]byte, 0, 32*len(chunks))
	for _, c := range chunks {
		b = append(b, c[:]...)
	}
	return digest("chunks", b)
}

// VectorDigest is the digest of a vector of field elements.
func VectorDigest(v field.Vector) Digest {
	h := NewVectorHash()
	for buf := make([]byte, 0, min(hashPiece, field.ElementSize*len(v))); len(v) > 0; {
		n := min(len(v), hashPiece/field.ElementSize)
		h.Write(field.AppendVector(buf, v[:n]))
		v = v[n:]
	}
	return h.Digest()
}

// VectorHash is VectorDigest for a vector that comes in pieces.
type VectorHash struct{ h long }

// NewVectorHash begins the digest of a vector.
func NewVectorHash() *VectorHash { return &VectorHash{longHash(vectorContext)} }

// Write takes the encoding of the elements that come next.
func (v *VectorHash) Write(encoded []byte) { v.h.write(encoded) }

// Digest is the digest of all that was written.
func (v *VectorHash) Digest() Digest { return v.h.digest() }

// IntDigest is the digest of a vector of integers: a model or an aggregate.
func IntDigest(v []int64) Digest {
	h := longHash(integersContext)
	for buf := make([]byte, 0, min(hashPiece, 8*len(v))); len(v) > 0; {
		n := min(len(v), hashPiece/8)
		h.write(AppendInts(buf, v[:n]))
		v = v[n:]
	}
	return h.digest()
}

// IntHash is IntDigest for a vector that comes encoded, in pieces.
type IntHash struct{ h long }

// NewIntHash begins the digest of a vector of integers.
func NewIntHash() *IntHash { return &IntHash{longHash(integersContext)} }

// Write takes the encoding (AppendInts) of the integers that come next.
func (i *IntHash) Write(encoded []byte) { i.h.write(encoded) }

// Digest is the digest of all that was written.
func (i *IntHash) Digest() Digest { return i.h.digest() }

// IntDigestBeside is IntDigest(v), given the digest of a vector that it may be equal
// to, as a sum is that becomes the model as it is: comparing costs far less.
func IntDigestBeside(known Digest, of, v []int64) Digest {
	if len(v) == len(of) && len(v) > 0 && &v[0] == &of[0] || slices.Equal(of, v) { // often the same memory
		return known
	}
	return IntDigest(v)
}

// hashPiece is how much of a vector is encoded at a time to be hashed, in bytes: a
// multiple of what BLAKE3 takes in at once, and small enough for the nearest cache.
const hashPiece = 16 << 10

// entrySize is an Entry's encoding, in bytes.
const entrySize = 4 + 32

// long is a hash of long data.
type long struct{ *blake3.Hasher }

// longHash begins a digest in a context.
func longHash(context string) long { return long{blake3.NewDeriveKey(context)} }

func (l long) write(b []byte) { l.Write(b) } // it never fails

func (l long) digest() (d Digest) {
	l.Sum(d[:0])
	return d
}

// AppendInts encodes integers as 8 bytes little endian each, two's complement.
func AppendInts(dst []byte, v []int64) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 8*len(v))[:start+8*len(v)]
	b := dst[start:]
	for ; len(v) >= 4 && len(b) >= 32; v, b = v[4:], b[32:] {
		x, to := (*[4]int64)(v), (*[32]byte)(b)
		binary.LittleEndian.PutUint64(to[:], uint64(x[0]))
		binary.LittleEndian.PutUint64(to[8:], uint64(x[1]))
		binary.LittleEndian.PutUint64(to[16:], uint64(x[2]))
		binary.LittleEndian.PutUint64(to[24:], uint64(x[3]))
	}
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
	}
	return dst
}

// DecodeInts sets the first integers of dst to those that b, a multiple of 8 bytes,
// encodes. It panics when dst is shorter.
func DecodeInts(dst []int64, b []byte) {
	for dst = dst[:len(b)/8]; len(dst) >= 4 && len(b) >= 32; dst, b = dst[4:], b[32:] {
		x, from := (*[4]int64)(dst), (*[32]byte)(b)
		x[0] = int64(binary.LittleEndian.Uint64(from[:]))
		x[1] = int64(binary.LittleEndian.Uint64(from[8:]))
		x[2] = int64(binary.LittleEndian.Uint64(from[16:]))
		x[3] = int64(binary.LittleEndian.Uint64(from[24:]))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

// Ints decodes what AppendInts encoded; ok is false for a length that isn't a
// multiple of 8.
func Ints(b []byte) (v []int64, ok bool) {
	if len(b)%8 != 0 {
		return nil, false
	}
	v = make([]int64, len(b)/8)
	DecodeInts(v, b)
	return v, true
}
