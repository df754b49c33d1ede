// Package pvi is partitioned variational inference on integers. How sums are made secret is
// left to the caller, who adds the parties' updates by Choir's protocol, by a trusted
// aggregator or in memory, with the same result.
//
// # State
//
// Everything that is exchanged or stored is a vector of int64 in the natural parameters of
// package gauss. An update is in units of 2^-f (f = Config.FracBits). The global state,
// called raw, and the private factors are in units of 2^-(f+D) (D = Config.DampingBits),
// because the damping of round s is the dyadic number k_s / 2^D. With u_i,k the clipped
// integer update of party i's shard k and n_i the integer noise of party i, a round is
//
//	S_s       = sum_i (n_i + sum_k u_i,k)
//	raw_s     = raw_{s-1} + k_s S_s          (Config.Fold, public)
//	t_i,k    += k_s u_i,k                    (Learner.Settle, at the party only)
//
// without any rounding, so that at all times, on the integers,
//
//	raw - prior - sum of factors = sum_s k_s (noise of round s).
//
// An int64 that would overflow is ErrOverflow; it never wraps. A factor of clipped updates stays at the end
// of its range in the place of that, since its party's absence would reveal a record.
//
// # The posterior
//
// Noise can make raw improper. The global posterior is q = raw + server(raw), where the
// server's factor lifts precisions below Config.PrecisionFloor to it. It is a stateless
// function of public numbers, hence post-processing, and all members compute the same one
// (Config.Repair). What a party sends or stores is never lifted: that would invalidate the
// accounting ([Thesis], section 4.3.3).
//
// # Settling
//
// Under joint noise a factor includes exactly the clipped update that was sent, without the
// noise, and only when the round's result includes the contribution. So a party's private
// state is a deterministic function of its own data and the public history, and, given the
// public history, changing one record changes one shard's clipped vector in every round:
// Config.Sensitivity is 2C. [DP-PVI] and [Thesis] (Algorithm 3) let a party fold its own
// noise into its factor; under noise that is added jointly, the claimed sensitivity then
// fails, because the next round's update cancels the noise.
//
// # Strategies
//
// Config.Strategy is the strategy and its parameters, and Config.Mechanism describes what
// it releases under noise: on the sum over parties, or, with local noise, at every party
// separately (Learner.WithNoise). A party that releases its own noised updates may keep a
// factor made of them, noise included, since that factor is public. Strategies that clip
// single records (Optimisation and those derived from it) draw secret samples and make
// several releases in a round. docs/methods.md has the theorems.
//
// # Reading
//
// Package reading makes a posterior that counts the noise of what rounds revealed. It knows rounds by this
// package's Config: what a term was in (NaturalSum, CurvatureSlice, NewtonUnits, ResidualTerm) and what the
// public state is made of.
//
// # Rounds
//
// Rounds are numbered from 1. A party that misses a round, or whose round is rejected, does
// not settle it.
package pvi
