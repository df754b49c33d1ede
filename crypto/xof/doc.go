// Package xof expands a 32-byte key into vectors over the field: the keystream
// that seed-compressed shares are made of (DESIGN decision 3).
//
// # Contract
//
// A stream is a function of its key, which is an AES-256 key. The key must be uniform and
// was derived for this one stream: whoever needs two derives two keys, each with all that
// its use is about in the derivation (plan, round, attempt, from, to; channel.Secret.Derive).
//
// The stream is cut into chunks of [ChunkElements] elements. Chunk c is AES-256 in
// counter mode from the initial counter block
//
//	c as 8 bytes, big endian | 0 as 8 bytes, big endian
//
// read as 8-byte little-endian words. A word below p is the next element, any other
// (probability 2^-32) is skipped and the stream goes on. Chunks can therefore be
// expanded in any order and in parallel, and fewer elements of a chunk are a
// prefix of more of them.
//
// Expansion has no branch or address that depends on accepted elements: only the
// presence of a rejected word, which is never used, shows in the time.
//
// AES is the standard library's; the addition is package field's, in assembly where that
// pays (docs/decisions/0012-vector-instructions.md).
package xof
