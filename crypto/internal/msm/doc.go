// Package msm sums products of scalars and points of edwards25519, for batches of
// signatures and for commitments to vectors.
//
// # Contract
//
// [Sum] returns Σ ±scalar·point by the bucket method of Pippenger (Bernstein, Doumen, Lange and
// Oosterwijk, "Faster batch forgery identification", INDOCRYPT 2012, section 4). The additions
// are those of Hisil, Wong, Carter and Dawson, "Twisted Edwards curves revisited", ASIACRYPT
// 2008, section 3.1, which are complete: they hold for all points of this curve, including those
// of small order. [SumProducts] does the same for points with precomputed multiples ([Table]).
// Field arithmetic, point encoding and everything else is that of filippo.io/edwards25519, with
// which the tests compare all sums.
//
// All functions take VARIABLE TIME, and the memory addresses they access depend on the scalars.
// The inputs of package identity are public: keys, signatures, and coefficients that must be
// unpredictable beforehand but need not stay secret. The scalars of package commit are a noised
// update, which is secret; its documentation states where a commitment may be computed.
//
// Points are set by [Point.Set] and [SetAll] from points that the library has checked. Scalars are
// 256-bit integers below 2^255, reduced or not.
package msm
