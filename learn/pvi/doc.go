// Package pvi is partitioned variational inference on integers. It knows nothing of
// how sums are made secret: whoever drives it adds the parties' updates, by Choir's
// protocol, by a trusted aggregator or in memory, and gets the same numbers.
//
// # State
//
// Everything that is exchanged or remembered is a vector of int64 in the natural
// parameters of package gauss. An update is in units of 2^-f (f = Config.FracBits).
// The global state, called raw, and the private factors are in units of 2^-(f+D) (D
// = Config.DampingBits), because the damping of round s is the dyadic number k_s /
// 2^D. With u_i,k the clipped integer update of party i's shard k and n_i the
// integer noise of party i, a round is
//
//	S_s       = sum_i (n_i + sum_k u_i,k)
//	raw_s     = raw_{s-1} + k_s S_s          (Config.Fold, anyone)
//	t_i,k    += k_s u_i,k                    (Learner.Settle, the party alone)
//
// without any rounding, so that at all times, on the integers,
//
//	raw - prior - sum of factors = sum_s k_s (noise of round s).
//
// An int64 that would overflow is ErrOverflow; it never wraps.
//
// # The posterior
//
// Noise may leave raw improper. The global posterior is q = raw + server(raw),
// where the server's factor lifts precisions below Config.PrecisionFloor to it. It
// is a stateless function of public numbers, hence post-processing, and everybody
// computes it alike (Config.Repair). Nothing is ever lifted in what a party sends
// or keeps: that would break the accounting (thesis, section 4.3.3).
//
// # A party's rule
//
// Under joint noise a factor takes in exactly the clipped update that was sent,
// without the noise, and only when the round's result says that it counted. So a
// party's private state is a deterministic function of its own data and the public
// history, and, given the public history, changing one record changes one shard's
// clipped vector in every round: Config.Sensitivity is 2C. Paper IV and the thesis
// (Algorithm 3) let a party fold its own noise into its factor; under noise that is
// added jointly, the claimed sensitivity then fails, because the next round's update
// takes the noise out again.
//
// # Methods
//
// Config.Strategy names the method and Config.Mechanism says what it releases under
// noise: on the sum over parties, or, with Method.Local, at every party by itself
// (Learner.WithNoise). A party that releases its own noised updates may keep a
// factor made of them, noise and all, since that factor is public. Strategies that
// clip single records (Optimisation and its kin) draw secret samples and make
// several releases in a round. docs/methods.md has the theorems.
//
// # Rounds
//
// Rounds are numbered from 1. A party that misses a round, or whose round is
// rejected, just doesn't settle it.
package pvi
