package protocol

import (
	"encoding/binary"
	"slices"

	"choir/crypto/blake"
	"choir/crypto/field"
)

// shortDigest is what digest hashes without an allocation, in bytes.
const shortDigest = 768

// digest hashes parts with their lengths in front, so that no two splits of the same bytes
// collide.
func digest(context string, parts ...[]byte) Digest {
	var room [shortDigest]byte
	b := room[:0]
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return blake.Derive(context, b)
}

func u32bytes(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// SetDigest names the agreed set of an attempt.
func SetDigest(s BoundPlan, round, attempt uint32, set []Entry) Digest {
	h := blake.NewHash(setContext)
	b := make([]byte, 0, min(hashPiece, 40+entrySize*len(set)))
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append(b, s.ID[:]...), round), attempt)
	for _, e := range set {
		if len(b)+entrySize > hashPiece {
			h.Write(b)
			b = b[:0]
		}
		b = append(binary.BigEndian.AppendUint32(b, e.Party), e.Bundle[:]...)
	}
	h.Write(b)
	return h.Sum()
}

// KeyDigest names a responder's plan key.
func KeyDigest(s BoundPlan, owner uint32, public []byte) Digest {
	return digest(ownerContext, s.ID[:], u32bytes(owner), public)
}

// ChunkDigest is the digest of one sealed chunk.
func ChunkDigest(ciphertext []byte) Digest { return NewChunkHash().Digest(ciphertext) }

// ChunkHash is ChunkDigest for whoever hashes many: it has 10 KiB of room that each
// call would allocate otherwise. One goroutine uses it.
type ChunkHash struct{ h *blake.Hash }

// NewChunkHash makes the room.
func NewChunkHash() *ChunkHash { return &ChunkHash{blake.NewHash(chunkContext)} }

// Digest is the digest of one sealed chunk.
func (c *ChunkHash) Digest(ciphertext []byte) Digest {
	c.h.Reset()
	c.h.Write(ciphertext)
	return c.h.Sum()
}

// ChunkList is the digest of a sealed vector: of its chunks' digests in order.
func ChunkList(chunks []Digest) Digest {
	b := make([]byte, 0, 32*len(chunks))
	for _, c := range chunks {
		b = append(b, c[:]...)
	}
	return digest(chunksContext, b)
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
type VectorHash struct{ h *blake.Hash }

// NewVectorHash begins the digest of a vector.
func NewVectorHash() *VectorHash { return &VectorHash{blake.NewHash(vectorContext)} }

// Write takes the encoding of the elements that come next.
func (v *VectorHash) Write(encoded []byte) { v.h.Write(encoded) }

// Digest is the digest of all that was written.
func (v *VectorHash) Digest() Digest { return v.h.Sum() }

// IntDigest is the digest of a vector of integers: a model or an aggregate. It is one of
// their packed form (PackInts), of which there is less to hash, and which members store.
func IntDigest(v []int64) Digest {
	p := NewIntPacker(len(v))
	p.forget = true
	p.Write(v)
	return p.digest()
}

// IntPacker packs integers that come in order, and digests the packed form on the way.
type IntPacker struct {
	h      *blake.Hash
	packed []byte // all of it, or what isn't in the hash yet
	forget bool   // what is in the hash
	count  int    // of all integers
	hashed int    // how much of packed is
	size   int    // of all that is
	end    *Digest
}

// NewIntPacker begins to pack so many integers.
func NewIntPacker(count int) *IntPacker {
	return &IntPacker{h: blake.NewHash(integersContext), packed: binary.LittleEndian.AppendUint64(nil, uint64(count)), count: count}
}

// Write takes the integers that come next: a multiple of 4096, and the last ones.
func (p *IntPacker) Write(v []int64) {
	for block := range slices.Chunk(v, packedBlock) {
		if waiting := len(p.packed) - p.hashed; waiting > packPiece {
			p.hash(waiting &^ (packPiece - 1))
		}
		if len(p.packed) == 8 && !p.forget { // room for all, as wide as most blocks are
			p.packed = slices.Grow(p.packed, packedSize(p.count, block))
		}
		p.packed = packBlock(p.packed, block, nil)
	}
}

// packPiece is how much of the packed form is hashed at a time, in bytes; a power of two.
const packPiece = 32 << 10

// hash takes the next bytes of the packed form into the hash.
func (p *IntPacker) hash(n int) {
	p.h.Write(p.packed[p.hashed:][:n])
	p.hashed, p.size = p.hashed+n, p.size+n
	if p.forget {
		p.packed, p.hashed = p.packed[:copy(p.packed, p.packed[p.hashed:])], 0
	}
}

func (p *IntPacker) digest() Digest {
	waiting := len(p.packed) - p.hashed
	padding := packedPadding(p.size + waiting)
	p.packed = append(p.packed, make([]byte, padding)...)
	p.hash(waiting + padding)
	return p.h.Sum()
}

// End returns the digest of all integers, which is IntDigest's, and their packed form, which
// is PackInts's. Nothing may be written after it.
func (p *IntPacker) End() (Digest, []byte) {
	if p.end == nil {
		d := p.digest()
		p.end = &d
	}
	return *p.end, p.packed
}

// ReuseIntDigest is IntDigest(v), given the digest of a vector that it may be equal
// to, as a sum is that becomes the model as it is: comparing costs far less.
func ReuseIntDigest(known Digest, of, v []int64) Digest {
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
