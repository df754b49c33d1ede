// Package share implements M-of-M additive secret sharing over the field, compressed with
// seeds. Of the M compute nodes that a party shares its vector x to, M-1 derive their share from
// a stream whose key they already have, and one receives the explicit share
//
//	x - (sum of the expansions of the other nodes)
//
// so that the M shares sum to x. A party therefore uploads one vector instead of M.
//
// # Contract
//
// Any M-1 shares are computationally independent of x, provided that one stream which the
// coalition does not know has a uniform key that was never used for another vector. Each (key,
// label, context) must be used for one vector only: two vectors under the same streams reveal
// their difference.
//
// The time of every function depends only on lengths. Vectors are divided into chunks of
// xof.ChunkElements; with the chunk functions a caller can process chunks in parallel or while
// others are being sent.
//
// Wrong lengths and missing streams are errors of the caller and panic.
package share
