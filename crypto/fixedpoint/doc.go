// Package fixedpoint brings real vectors onto a public grid of 2^-f and from there
// into the field, and guarantees on the integers what privacy rests on: the L2
// norm of what a party contributes, and that the sum of all contributions cannot
// wrap.
//
// The way of an update is
//
//	ClipReal -> Grid.Round -> ClipInt -> (+ integer noise) -> (Pair) -> ToField
//
// and that of an aggregate FromField -> (Unpair) -> Grid.Float. Only [ClipInt] carries the
// sensitivity: clipping reals merely makes it rarely necessary, since rounding
// can push a vector that was on the sphere over it again.
//
// # Contract
//
// Integer results are exact and the same on every platform. A value that is NaN,
// infinite or out of range is refused with the index of the coordinate, never its
// value, and a refusal leaves the receiver as it was, or zero where the function says
// so: never half done. Vectors of different length
// are refused where the function returns an error and panic where it doesn't. [PackShort]
// and [AddShort] are for whoever keeps integers in two or three bytes each: they do the common
// part of that fast, and leave to their caller, in no defined state, what isn't common.
//
// Where the processor has them, vector instructions take coordinates sixteen at a time
// (docs/decisions/0012); the results are the same without.
//
// Rounding, clipping and refusing are not constant time: whether a vector was
// clipped shows in the time that the party itself spends.
package fixedpoint
