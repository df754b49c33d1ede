// Package blake is BLAKE3 in its key derivation mode (O'Connor, Aumasson, Neves and
// Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2020, sections 2.3 and 6.2),
// derive_key(context, material) with an output of 32 bytes. It derives the keys of contributions
// and computes the digests of messages and vectors.
//
// # Contract
//
// The context must be a constant of the program, different for every use; everything that
// differs from message to message belongs in the material. Material in several parts is their
// concatenation. The parts are not delimited: callers with parts of variable length must encode
// the lengths.
//
// For key derivation the material must contain a secret of full entropy at a position that is
// fixed for the context (here: the first 32 bytes); the function is then assumed to be a
// pseudorandom function of the rest. As a hash it is assumed to resist collisions at 128 bits.
// The authors claim both for this mode (decision 0020).
//
// Time depends only on lengths. [Derive] wipes the hasher that it used. The implementation is
// github.com/zeebo/blake3 (assembly for AVX2 and SSE4.1, Go elsewhere).
package blake

import (
	"sync"

	"github.com/zeebo/blake3"
)

// size is the length in bytes of keys and digests.
const size = 32

// Derive is derive_key over the concatenation of the parts of the material. It is meant for short
// material and does not allocate. It may be called concurrently.
func Derive(context string, material ...[]byte) (out [size]byte) {
	pool := pools.of(context)
	h, _ := pool.Get().(*blake3.Hasher)
	if h == nil {
		h = blake3.NewDeriveKey(context)
	}
	size := 0
	for _, part := range material {
		_, _ = h.Write(part) // Write never fails
		size += len(part)
	}
	h.Sum(out[:0])
	wipe(h, size)
	pool.Put(h)
	return out
}

// wipe resets a hasher and overwrites its buffer, which received size bytes.
func wipe(h *blake3.Hasher, size int) {
	for h.Reset(); size > 0; size -= len(zeros) {
		_, _ = h.Write(zeros[:min(size, len(zeros))])
	}
	h.Reset()
}

// zeros is never written to.
var zeros [512]byte

// pools caches hashers by context: a new one costs a compression of the context and 10 KiB.
// Contexts are constants, so that there are few.
var pools byContext

type byContext struct{ m sync.Map } // string to *sync.Pool of *blake3.Hasher

func (b *byContext) of(context string) *sync.Pool {
	if p, ok := b.m.Load(context); ok {
		return p.(*sync.Pool)
	}
	p, _ := b.m.LoadOrStore(context, new(sync.Pool))
	return p.(*sync.Pool)
}

// Hash is the same function for material that is long or written in pieces. It is not wiped:
// use it for digests of public data only. It must not be copied or used by several goroutines at
// the same time.
type Hash struct{ h *blake3.Hasher }

// NewHash returns a Hash for a context.
func NewHash(context string) *Hash { return &Hash{blake3.NewDeriveKey(context)} }

// Write appends to the material. It never fails.
func (h *Hash) Write(b []byte) { _, _ = h.h.Write(b) }

// Sum returns the digest of everything written. Call Reset before the next Write.
func (h *Hash) Sum() (out [size]byte) {
	h.h.Sum(out[:0])
	return out
}

// Reset discards the material and keeps the context.
func (h *Hash) Reset() { h.h.Reset() }
