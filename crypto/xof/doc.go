// Package xof expands a 32-byte key into vectors over the field: the keystream
// that seed-compressed shares are made of (DESIGN decision 3).
//
// # Contract
//
// A stream is a function of (key, label, context). The AES-256 key is
//
//	HKDF-SHA256-Expand(key, "choir xof v1" | len(label) as 2 bytes, big endian | label | context, 32)
//
// so that one key serves any number of uses, a label per use, and two different
// (label, context) pairs never share a keystream. The key must be uniform, as the
// output of a key exchange's export or another expansion is; there is no extract
// step to repair one that is not. A key that was derived for one use, with all that this
// use is about in its derivation, is the AES-256 key itself ([OneUse]): a share's mask.
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
