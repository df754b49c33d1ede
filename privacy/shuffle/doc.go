// Package shuffle bounds the privacy of shuffled local reports: the adversary sees the multiset of the
// reports of n users, knows the values of all but one, and wants to know that one.
//
// A [Round] describes the randomiser, the number of users, and how they are sampled. [Upper] composes
// rounds, which may differ and may be chosen adaptively, with each other and with other steps, and
// bounds their epsilon from above, [Lower] from below. Upper bounds rest on pairs of distributions that
// dominate a round:
//
//   - any eps0-LDP randomiser: the clones of [FMT23] with the largest probability (Theorem S1);
//   - k-ary randomised response, also with self-sampling and dummies: Theorem S2, which is [Shuffle],
//     Theorem 16;
//   - Laplace and Gaussian reports: the privacy blanket of [BBGN19], whose curve is the mean of
//     the positive part of a sum of independent variables.
//
// Lower bounds rest on neighbours that exist, in most cases those whose other values are all a third
// one. docs/privacy.md has the theorems; docs/shuffle-proofs.md proves the longer ones.
//
// Every discrete pair is a mixture of pairs of coin tosses, see coins. Tails are moved to infinite loss or
// dropped, weights have a relative error below 2^-38, and package pld adds the round-off of the rest.
package shuffle
