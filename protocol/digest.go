package protocol

import (
	"encoding/binary"
	"slices"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/crypto/field"
)

// shortDigest is the number of bytes that digest hashes without an allocation.
const shortDigest = 768

// digest hashes each part after its length, so that no two lists of parts have the same input.
func digest(context string, parts ...[]byte) Digest {
	var buf [shortDigest]byte
	b := buf[:0]
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return blake.Derive(context, b)
}

func u32bytes(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// SetDigest is the digest of the agreed set of an attempt.
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

// KeyDigest is the digest of a responder's plan key.
func KeyDigest(s BoundPlan, owner uint32, public []byte) Digest {
	return digest(ownerContext, s.ID[:], u32bytes(owner), public)
}

// ChunkHash computes the digests of sealed chunks, in memory that it reuses. It is for one
// goroutine.
type ChunkHash struct{ h *blake.Hash }

// NewChunkHash returns a ChunkHash.
func NewChunkHash() *ChunkHash { return &ChunkHash{blake.NewHash(chunkContext)} }

// Digest returns the digest of one sealed chunk.
func (c *ChunkHash) Digest(ciphertext []byte) Digest {
	c.h.Reset()
	c.h.Write(ciphertext)
	return c.h.Sum()
}

// ChunkList is the digest of a sealed vector, over its chunks' digests in order.
func ChunkList(chunks []Digest) Digest {
	b := make([]byte, 0, 32*len(chunks))
	for _, c := range chunks {
		b = append(b, c[:]...)
	}
	return digest(chunksContext, b)
}

// DigestSecret keys the digests of models and aggregates, which the parties, the aggregator and
// readers of a transcript have. Without it a digest reveals nothing about what was hashed, however
// few the possible values are.
type DigestSecret [32]byte

// DigestKey is the key of the digests of one round's aggregate and of the model after it.
type DigestKey [32]byte

// DigestSecret derives the secret from the group key.
func (s BoundPlan) DigestSecret(group *channel.Secret) DigestSecret {
	return DigestSecret(group.Derive(digestKey, s.ID[:]))
}

// Key returns a round's key; round 0 is that of the initial model. The secret is replaced each round
// like all others (see Keyring): the one of round r+1 gives the key of round r.
func (s DigestSecret) Key(round uint32) DigestKey {
	secret, _ := channel.NewSecret(s[:]) // its length is right
	return KeyOfDigests(Later(secret, round))
}

// KeyOfDigests returns the key that follows from a digest secret as it is in the round after.
func KeyOfDigests(secret *channel.Secret) DigestKey { return secret.Derive(roundKey, nil) }

// DigestKeys gives the keys of rounds that come in order without deriving each from the first.
type DigestKeys struct {
	first  DigestSecret
	round  uint32
	secret *channel.Secret
}

// NewDigestKeys returns the keys that follow from a secret.
func NewDigestKeys(s DigestSecret) *DigestKeys { return &DigestKeys{first: s} }

// Key returns a round's key.
func (k *DigestKeys) Key(round uint32) DigestKey {
	if k.secret == nil || round < k.round {
		k.secret, _ = channel.NewSecret(k.first[:])
		k.round = 0
	}
	k.secret = Later(k.secret, round-k.round)
	k.round = round
	return KeyOfDigests(k.secret)
}

// Opening is what a node's signed digest of its partial sum hides and binds besides the vector.
type Opening struct {
	Salt     [32]byte // keeps the digest from confirming a guess
	Blinding [32]byte // sum of the set's blinding shares for this node; zero without audit
}

// VectorDigest is the digest of a vector of field elements with an opening.
func VectorDigest(v field.Vector, o Opening) Digest {
	h := NewVectorHash()
	for buf := make([]byte, 0, min(hashPiece, field.ElementSize*len(v))); len(v) > 0; {
		n := min(len(v), hashPiece/field.ElementSize)
		h.Write(field.AppendVector(buf, v[:n]))
		v = v[n:]
	}
	return h.Digest(o)
}

// VectorHash computes VectorDigest for a vector that comes in pieces.
type VectorHash struct{ h *blake.Hash }

// NewVectorHash starts the digest of a vector.
func NewVectorHash() *VectorHash { return &VectorHash{blake.NewHash(vectorContext)} }

// Write adds the encoding of the next elements.
func (v *VectorHash) Write(encoded []byte) { v.h.Write(encoded) }

// Digest returns the digest of all elements written, with an opening. Nothing may be written
// afterwards.
func (v *VectorHash) Digest(o Opening) Digest {
	v.h.Write(o.Salt[:])
	v.h.Write(o.Blinding[:])
	return v.h.Sum()
}

// IntDigest is the digest of a vector of integers, a model or an aggregate. It hashes their
// packed form (see PackInts), which is shorter and which members store, and then the key.
func IntDigest(key DigestKey, v []int64) Digest {
	p := NewIntPacker(len(v))
	p.forget = true
	p.Write(v)
	return p.digest(key)
}

// ZerosDigest is IntDigest of n zeros, which it does not make.
func ZerosDigest(key DigestKey, n int) Digest {
	p := NewIntPacker(n)
	p.forget = true
	zeros := make([]int64, min(n, packedBlock))
	for ; n > 0; n -= len(zeros) {
		p.Write(zeros[:min(n, len(zeros))])
	}
	return p.digest(key)
}

// packedDigest is IntDigest of integers, given their packed form.
func packedDigest(key DigestKey, packed []byte) Digest {
	h := blake.NewHash(integersContext)
	h.Write(packed)
	h.Write(key[:])
	return h.Sum()
}

// IntPacker packs integers that come in order, and digests the packed form.
type IntPacker struct {
	h      *blake.Hash
	packed []byte // all of it, or with forget only what is not hashed yet
	forget bool   // drop what is hashed
	count  int    // of all integers
	hashed int    // bytes of packed that are hashed
	size   int    // bytes that are hashed
	end    *Digest
}

// NewIntPacker returns an IntPacker for count integers.
func NewIntPacker(count int) *IntPacker {
	packed := binary.LittleEndian.AppendUint64(nil, uint64(count))
	return &IntPacker{h: blake.NewHash(integersContext), packed: packed, count: count}
}

// Write adds the next integers. Except for the last call their number must be a multiple of
// 4096.
func (p *IntPacker) Write(v []int64) {
	for block := range slices.Chunk(v, packedBlock) {
		if waiting := len(p.packed) - p.hashed; waiting > packPiece {
			p.hash(waiting &^ (packPiece - 1))
		}
		if len(p.packed) == 8 && !p.forget { // allocate for all blocks by the width of the first
			p.packed = slices.Grow(p.packed, packedSize(p.count, block))
		}
		p.packed = packBlock(p.packed, block, nil)
	}
}

// packPiece is the number of bytes that are hashed at a time, a power of two.
const packPiece = 32 << 10

// hash hashes the next n bytes of the packed form.
func (p *IntPacker) hash(n int) {
	p.h.Write(p.packed[p.hashed:][:n])
	p.hashed += n
	p.size += n
	if p.forget {
		p.packed = p.packed[:copy(p.packed, p.packed[p.hashed:])]
		p.hashed = 0
	}
}

func (p *IntPacker) digest(key DigestKey) Digest {
	waiting := len(p.packed) - p.hashed
	padding := packedPadding(p.size + waiting)
	p.packed = append(p.packed, make([]byte, padding)...)
	p.hash(waiting + padding)
	p.h.Write(key[:])
	return p.h.Sum()
}

// End returns IntDigest and PackInts of all integers. Nothing may be written afterwards.
func (p *IntPacker) End(key DigestKey) (Digest, []byte) {
	if p.end == nil {
		d := p.digest(key)
		p.end = &d
	}
	return *p.end, p.packed
}

// ReuseIntDigest returns IntDigest(key, v), given the digest of another vector under the same key.
// If v equals that vector, as a model does that is the sum itself, it saves the hash.
func ReuseIntDigest(key DigestKey, known Digest, of, v []int64) Digest {
	if len(v) == len(of) && len(v) > 0 && &v[0] == &of[0] || slices.Equal(of, v) { // the same memory, often
		return known
	}
	return IntDigest(key, v)
}

// hashPiece is the number of bytes of a vector that are encoded at a time: a multiple of what
// BLAKE3 hashes at once, and small enough for the first-level cache.
const hashPiece = 16 << 10

// entrySize is the size of an encoded Entry, in bytes.
const entrySize = 4 + 32

// AppendInts appends integers in two's complement, 8 bytes each, little endian.
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

// DecodeInts decodes b, whose length is a multiple of 8, into the first integers of dst. It
// panics if dst is shorter.
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

// Ints decodes what AppendInts encoded. ok is false if the length is not a multiple of 8.
func Ints(b []byte) (v []int64, ok bool) {
	if len(b)%8 != 0 {
		return nil, false
	}
	v = make([]int64, len(b)/8)
	DecodeInts(v, b)
	return v, true
}
