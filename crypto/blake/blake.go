// Package blake is BLAKE3 in its key derivation mode (O'Connor, Aumasson, Neves,
// Wilcox-O'Hearn: "BLAKE3: one function, fast everywhere", 2020, sections 2.3 and 6.2),
// derive_key(context, material) with an output of 32 bytes: the keys of a contribution,
// several of them for each party, node and round, and the digests of messages and vectors.
//
// # Contract
//
// context is a constant of the program, another one for every use; what differs from
// message to message is in the material. Material in several parts is their concatenation:
// they are not delimited here, so who has parts of varying length encodes lengths.
//
// As a key derivation it asks for material with a secret of full entropy in it, in
// a place that is fixed for its context (here: its first 32 bytes), and is then assumed to be
// a pseudorandom function of the rest. As a hash it is assumed to resist
// collisions at 128 bits. Both are what the authors claim for the mode
// (docs/decisions/0020-one-hash.md).
//
// Time depends on lengths only. [Derive] wipes the hasher that it used. The implementation is github.com/zeebo/blake3 (assembly for AVX2 and SSE4.1, Go for all else).
package blake

import (
	"sync"

	"github.com/zeebo/blake3"
)

// Size is the length in bytes of keys and digests.
const Size = 32

// Derive is derive_key over the parts of the material, one after the other. It is meant for
// short material, as often as one likes: nothing is allocated. It may be called concurrently.
func Derive(context string, material ...[]byte) (out [Size]byte) {
	pool := pools.of(context)
	h, _ := pool.Get().(*blake3.Hasher)
	if h == nil {
		h = blake3.NewDeriveKey(context)
	}
	size := 0
	for _, part := range material {
		_, _ = h.Write(part) // it never fails
		size += len(part)
	}
	h.Sum(out[:0])
	wipe(h, size)
	pool.Put(h)
	return out
}

// wipe makes a hasher new, and overwrites what its buffer keeps of so many bytes.
func wipe(h *blake3.Hasher, size int) {
	for h.Reset(); size > 0; size -= len(zeros) {
		_, _ = h.Write(zeros[:min(size, len(zeros))])
	}
	h.Reset()
}

// zeros is never written to.
var zeros [512]byte

// pools keeps idle hashers by context: making one takes a compression of the context and
// 10 KiB. Contexts are constants, so they are few.
var pools byContext

type byContext struct{ m sync.Map } // string to *sync.Pool of *blake3.Hasher

func (b *byContext) of(context string) *sync.Pool {
	if p, ok := b.m.Load(context); ok {
		return p.(*sync.Pool)
	}
	p, _ := b.m.LoadOrStore(context, new(sync.Pool))
	return p.(*sync.Pool)
}

// Hash is the same function of material that is long, or comes in pieces. It isn't wiped: it
// is for digests of what is no secret. One goroutine uses it; it must not be copied.
type Hash struct{ h *blake3.Hasher }

// NewHash begins a digest.
func NewHash(context string) *Hash { return &Hash{blake3.NewDeriveKey(context)} }

// Write takes the material that comes next. It never fails.
func (h *Hash) Write(b []byte) { _, _ = h.h.Write(b) }

// Sum is the digest of all that was written, and its end: Reset comes before the next Write.
func (h *Hash) Sum() (out [Size]byte) {
	h.h.Sum(out[:0])
	return out
}

// Reset begins again in the same context.
func (h *Hash) Reset() { h.h.Reset() }
