// Package field implements arithmetic in the prime field with p = 2^64 - 2^32 + 1
// elements, the modulus of the whole protocol (Field64 of the IETF draft on VDAFs).
//
// Shares, keystreams, contributions and partial sums are vectors over this field.
// Integers are converted with the signed representation: an integer x with
// |x| <= (p-1)/2 is represented by x mod p.
//
// # Contract
//
// An [Element] is canonical: it is smaller than p. Every function expects canonical
// elements and returns canonical elements. [DecodeVector], [Vector.AddEncoded] and
// [Vector.SubEncoded], which read untrusted bytes, reject everything else. The zero values
// of Element and Vector are the zero of the field and the empty vector, and both are valid.
//
// The time of arithmetic, of encoding and of successful decoding depends only on lengths:
// no branch and no memory address depends on an element. Rejection is not constant time and
// reveals the index of the rejected value.
//
// On amd64 processors with AVX2, assembly processes 16 elements at a time (decision 0012).
// The build tag purego disables it; the results are the same.
//
// Vector operations on different lengths are errors of the caller and panic, as in
// crypto/cipher. Untrusted bytes never cause a panic.
package field
