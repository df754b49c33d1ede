// Package fixedpoint rounds real vectors to a public grid of 2^-f and maps them to the field. It
// guarantees for the integers what privacy relies on: the L2 norm of the update of a party, and
// that the sum of all contributions cannot wrap.
//
// An update is processed by
//
//	ClipReal -> Grid.Round -> ClipInt -> (+ integer noise) -> (Pair) -> ToField
//
// and an aggregate by FromField -> (Unpair) -> Grid.Float. Only [ClipInt] bounds the sensitivity.
// Clipping reals merely makes it rarely necessary: rounding can move a vector on the sphere
// outside of it.
//
// # Contract
//
// Integer results are exact and the same on every platform. A value that is NaN, infinite or out
// of range is rejected with the index of the coordinate, never its value. A rejection leaves the
// destination unchanged, or zero where the function documents it. Vectors of different length are
// rejected by functions that return an error, and panic otherwise. [PackShort] and [AddShort]
// process only integers of two or three bytes and leave the others to the caller.
//
// Rounding, clipping and rejection are not constant time: the time that a party spends depends on
// whether its vector was clipped.
package fixedpoint
