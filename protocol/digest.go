package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"choir/crypto/field"
)

// digest hashes length-prefixed parts under a label, so that no two uses and no
// two splits of the same bytes collide.
func digest(label string, parts ...[]byte) Digest {
	h := sha256.New()
	h.Write([]byte("choir v1 " + label + "\x00"))
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return Digest(h.Sum(nil))
}

func u32bytes(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// SetDigest names the agreed set of an attempt.
func SetDigest(s Session, round, attempt uint32, set []Entry) Digest {
	var b []byte
	for _, e := range set {
		b = binary.BigEndian.AppendUint32(b, e.Party)
		b = append(b, e.Bundle[:]...)
	}
	return digest("set", s.ID[:], u32bytes(round), u32bytes(attempt), b)
}

// KeyDigest names a responder's plan key.
func KeyDigest(s Session, owner uint32, public []byte) Digest {
	return digest("key", s.ID[:], u32bytes(owner), public)
}

// ChunkDigest is the digest of one sealed chunk.
func ChunkDigest(ciphertext []byte) Digest { return digest("chunk", ciphertext) }

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
	h := NewVectorHash(len(v))
	for buf := make([]byte, 0, hashPiece); len(v) > 0; {
		n := min(len(v), hashPiece/field.ElementSize)
		h.Write(field.AppendVector(buf, v[:n]))
		v = v[n:]
	}
	return h.Digest()
}

// VectorHash is VectorDigest for a vector that comes in pieces.
type VectorHash struct{ h hash.Hash }

// NewVectorHash begins the digest of a vector of so many elements.
func NewVectorHash(elements int) *VectorHash {
	return &VectorHash{begin("vector", elements*field.ElementSize)}
}

// Write takes the encoding of the elements that come next.
func (v *VectorHash) Write(encoded []byte) { v.h.Write(encoded) }

// Digest is the digest of all that was written.
func (v *VectorHash) Digest() Digest { return Digest(v.h.Sum(nil)) }

// IntDigest is the digest of a vector of integers: a model or an aggregate.
func IntDigest(v []int64) Digest {
	h := begin("integers", 8*len(v))
	for buf := make([]byte, 0, hashPiece); len(v) > 0; {
		n := min(len(v), hashPiece/8)
		h.Write(AppendInts(buf, v[:n]))
		v = v[n:]
	}
	return Digest(h.Sum(nil))
}

// IntDigestBeside is IntDigest(v), given the digest of a vector that it may be equal
// to, as a sum is that becomes the model as it is: comparing costs far less.
func IntDigestBeside(known Digest, of, v []int64) Digest {
	if slices.Equal(of, v) {
		return known
	}
	return IntDigest(v)
}

// hashPiece is how much of a vector is encoded at a time to be hashed, in bytes.
const hashPiece = 4096

// begin is digest up to a single part of n bytes.
func begin(label string, n int) hash.Hash {
	h := sha256.New()
	h.Write([]byte("choir v1 " + label + "\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	return h
}

// AppendInts encodes integers as 8 bytes little endian each, two's complement.
func AppendInts(dst []byte, v []int64) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 8*len(v))[:start+8*len(v)]
	for i, x := range v {
		binary.LittleEndian.PutUint64(dst[start+8*i:], uint64(x))
	}
	return dst
}

// DecodeInts sets the first integers of dst to those that b, a multiple of 8 bytes,
// encodes. It panics when dst is shorter.
func DecodeInts(dst []int64, b []byte) {
	for i := range len(b) / 8 {
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
