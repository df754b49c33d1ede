// Package commit implements Pedersen vector commitments on edwards25519 for the audit mode, in which
// anyone can check that the published aggregate is the sum of the values that the parties committed
// to.
//
// A commitment to integers v_0 ... v_{d-1} with the blinding scalar r is
//
//	C = r·H + Σ v_i·G_i
//
// in 32 bytes, for any d. The generators H and G_i are hashed to the curve, so that no relation
// between them is known. The commitment is perfectly hiding while r is uniform and secret, and
// binding if discrete logarithms are hard.
//
// In a round each party commits to its noised integer update and signs the
// commitment. It splits r into one share for each compute node, additively
// modulo the group order ℓ; a node publishes the sum of its shares over the
// agreed set U. Then
//
//	Σ_U C  =  (Σ_nodes blinding sums)·H + Σ_i aggregate_i·G_i
//
// which [Generators.Opens] checks. The check fails if a node changes its partial sum or its sum of
// blinding shares, and also if a party committed to other numbers than it shared. It detects an
// error, but does not identify who made it.
//
// The committed values are the noised update as signed integers. They must never be the integer
// representatives of its shares modulo the prime p of the field, whose sum differs from the update
// by a multiple of p that depends on the shares and leaks information. The plan keeps every sum
// below p/2 < 2^63 in magnitude, so that the integers of a sum neither wrap modulo p nor approach
// ℓ > 2^252, and the integer equation above is exact.
//
// Only the multiplication by r is constant time. The time and the memory accesses of
// [Generators.Commit] depend on the noised update: call it where no adversary measures either.
package commit
