// Package share is M-of-M additive secret sharing over the field, compressed with
// seeds (DESIGN decision 3): of the M compute nodes that a party shares its vector
// x to, M-1 derive their share from a stream that they already hold the key of,
// and one receives the explicit vector
//
//	x - (sum of the other nodes' expansions)
//
// so that the M shares sum to x.
//
// # Contract
//
// Any M-1 shares are computationally independent of x, as long as one stream that
// the coalition doesn't hold comes from a uniform key and was never used for
// another vector: one (key, label, context) a vector, ever. Two vectors under the
// same streams reveal their difference.
//
// Everything runs in time that depends on lengths only. Vectors are cut into
// chunks of xof.ChunkElements, and the chunk functions let a caller spread them
// over cores or overlap them with sending.
//
// Wrong lengths and missing streams are the caller's mistakes and panic.
package share
