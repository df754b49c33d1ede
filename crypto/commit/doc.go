// Package commit makes Pedersen vector commitments on edwards25519, for the
// audit mode: anyone can check that the published aggregate is the sum of what
// the parties committed to.
//
// A commitment to integers v_0 ... v_{d-1} with the blinding scalar r is
//
//	C = r·H + Σ v_i·G_i
//
// in 32 bytes, for any d. The generators H and G_i are hashed to the curve, so
// that nobody knows a relation between them. The commitment hides v perfectly,
// against any computer, while r is uniform and secret; it binds its maker to v
// while discrete logarithms are hard.
//
// In a round each party commits to its noised integer update and signs the
// commitment. It splits r into one share for each compute node, additively
// modulo the group order ℓ; a node publishes the sum of its shares over the
// frozen set U. Then
//
//	Σ_U C  =  (Σ_nodes blinding sums)·H + Σ_i aggregate_i·G_i
//
// which Generators.Opens checks. A node that changes its partial sum, or its
// sum of blinding shares, makes the check fail. So does a party that committed
// to other numbers than it shared: the check says that something is wrong, not
// who.
//
// What is committed to is the noised update as signed integers: never the
// integer lifts of its shares modulo the field's prime p, whose sum differs
// from the update by a multiple of p that depends on the shares and leaks. The
// plan keeps every sum below p/2 < 2^63 in absolute value, so the integers of
// a sum neither wrap modulo p nor come near ℓ > 2^252, and the integer equation
// above is exact.
//
// Nothing here but the multiplication by r is constant time. A party's Commit
// takes time, and uses memory at places, that depend on its noised update: do it
// where no one measures.
package commit
