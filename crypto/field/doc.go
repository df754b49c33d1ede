// Package field is arithmetic in the prime field of p = 2^64 - 2^32 + 1
// elements, the one modulus of the whole protocol (VDAF's Field64).
//
// Shares, keystreams, contributions and partial sums are all vectors over this
// field. Integers enter and leave it through the signed representation: an
// integer x with |x| <= (p-1)/2 stands for itself modulo p.
//
// # Contract
//
// An [Element] is canonical: it is smaller than p. Every function here takes
// canonical elements and returns canonical ones; the only way in from untrusted
// bytes, [DecodeVector], refuses everything else. The zero values of Element and
// Vector are the field's zero and the empty vector, and both are valid.
//
// Arithmetic, encoding and a successful decoding run in time that depends on
// lengths only, never on values: there is no branch and no memory address that
// depends on an element. Refusals are not constant time, and reveal where the
// refused value stood.
//
// On amd64 processors with AVX2, vectors go through assembly, 16 elements at a time
// (docs/decisions/0012-vector-instructions.md); the build tag purego leaves it out, and
// the results are the same.
//
// Vector operations on different lengths are a mistake of the caller's, not of
// the input's, and panic as crypto/cipher does. Bytes from outside never lead to
// a panic.
package field
