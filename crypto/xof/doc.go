// Package xof expands a 32-byte key into vectors over the field: the keystream from which
// seed-compressed shares are made (see package share).
//
// # Contract
//
// A stream is a function of its key, which is an AES-256 key. The key must be uniform and derived
// for this stream only. For two streams derive two keys, and include everything that distinguishes
// their uses in the derivation (plan, round, attempt, from, to: see channel.Secret.Derive).
//
// The stream is divided into chunks of [ChunkElements] elements. Chunk c is AES-256 in
// counter mode from the initial counter block
//
//	c as 8 bytes, big endian | 0 as 8 bytes, big endian
//
// read as 8-byte little-endian words. A word below p is the next element; any other word
// (probability 2^-32) is skipped. Chunks can therefore be expanded in any order and in parallel,
// and the first elements of a chunk do not depend on how many are expanded.
//
// No branch or address depends on accepted elements. Only the presence of a rejected word, which is
// never used, affects the time.
//
// AES is that of the standard library; the addition is that of package field (decision 0012).
package xof
