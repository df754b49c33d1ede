// Package msm sums products of scalars and points of edwards25519: what a batch of
// signatures costs, and a commitment to a vector.
//
// # Contract
//
// [Sum] returns Σ ±scalar·point by the bucket method (Pippenger; Bernstein, Doumen,
// Lange and Oosterwijk, "Faster batch forgery identification", INDOCRYPT 2012,
// section 4). The additions are those of Hisil, Wong, Carter and Dawson, "Twisted
// Edwards curves revisited", ASIACRYPT 2008, section 3.1, which hold for all points of
// this curve, those of small order among them. [Decode] decodes many points, with the
// verdict and the result that edwards25519.Point.SetBytes has for each.
//
// Where package lanes is fast, eight windows of all scalars are summed side by side, and
// eight square roots taken; elsewhere it is done one by one. The tests hold both to the
// same results, and those to the curve's library.
//
// Everything takes VARIABLE TIME and touches memory at places that depend on the scalars.
// What package identity sums up is public: keys, signatures, and coefficients that nobody
// may know beforehand and anybody afterwards. Package commit's scalars are a party's
// noised update, which is not: its comment says where that may be done.
//
// Points enter through [Point.Set] and [SetAll], from points that the curve's library has
// checked, or through [Decode]; scalars are 256-bit words below 2^255, reduced or not.
package msm
