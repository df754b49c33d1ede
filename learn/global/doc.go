// Package global is variational inference on all parties' records at once, by
// gradients that are only ever seen as noisy sums: the "global DP-VI" of Paper IV
// (there with a trusted aggregator), as thousands of cheap secure sums.
//
// # A round
//
// The public state holds the parameters (mean, log sd) of a mean-field Gaussian over
// the weights. In every round each party draws a Poisson sample of its own records,
// in secret and at the public rate q; takes of each drawn record the gradient of its
// expected log-likelihood; clips it to C in one L2 norm over all parameters; rounds
// it to the grid; clips it again on the integers; and adds its records up. The
// parties' sums are added with noise, and Config.Fold, which anybody can compute,
// takes the optimiser's step on
//
//	sum / q - gradient of KL(posterior || prior),
//
// or, with Natural, a natural-gradient step; the state is then natural parameters, and a
// record's gradient is measured in units of the public posterior before it is clipped.
// A party keeps no private state. It is as if one trusted aggregator held all
// records: how they are spread over the parties doesn't matter.
//
// # Joint sampling
//
// Each record enters a round by a coin of its own, which shows 1 with probability q
// whatever any other coin shows. That the coins of different records are tossed by
// different parties changes nothing about their joint distribution, so the union of
// the parties' samples is exactly a Poisson sample at rate q of the union of their
// records. Nobody but the record's own party knows its coin: an adversary who
// colludes with other parties knows their coins, which are independent of it. So the
// sampled mechanism that privacy accounts for is the one that runs, with the noise
// that stays hidden (N_min - T - 1 parts).
//
// # Neighbours
//
// Replace-one: a record is exchanged for another in the same place, so its coin is
// the same. Given that it shows 0 the sums are equal, given that it shows 1 they
// differ by at most 2B, B being the integer clip: Config.Sensitivity is 2B, the
// distance of the unsampled sums. A spare attempt tosses all coins anew, adds new
// noise, and is charged like a round.
//
// # Determinism
//
// Fold must give the same integers on every machine. It uses IEEE 754 addition,
// multiplication, division and square root only, each rounded on its own (explicit
// conversions forbid fused multiply-adds), an exponential made of these, and rounds
// the outcome to a public grid.
package global
