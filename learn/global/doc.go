// Package global is variational inference on all parties' records at once, by gradients
// that are revealed as noisy sums only: the "global DP-VI" of [DP-PVI] (there with a
// trusted aggregator), as thousands of small secure sums.
//
// # A round
//
// The public state has the parameters (mean, log sd) of a mean-field Gaussian over the
// weights. In every round each party draws a Poisson sample of its own records, in secret
// and at the public rate q; computes the gradient of the expected log-likelihood of each
// drawn record; clips it to C in one L2 norm over all parameters; rounds it to the grid;
// clips it again on the integers; and adds its records. The parties' sums are added with
// noise, and Config.Fold, a public function, takes the optimiser's step on
//
//	sum / q - gradient of KL(posterior || prior),
//
// or, with Natural, a natural-gradient step; the state is then natural parameters, and a
// record's gradient is measured in units of the public posterior before it is clipped. A
// party keeps no private state. The result is the same as with one trusted aggregator that
// has all records: their distribution over the parties does not matter.
//
// # Joint sampling
//
// Each record enters a round independently with probability q. That the samples of
// different parties are drawn by different parties does not change their joint
// distribution, so the union of the parties' samples is exactly a Poisson sample at rate q
// of the union of their records. Only the record's own party knows whether it was drawn: an
// adversary who colludes with other parties knows their samples, which are independent of
// it. So the sampled mechanism of the privacy accounting is the one that runs, with the
// noise that remains hidden (N_min - T - 1 parts).
//
// # Neighbours
//
// Replace-one: a record is exchanged for another at the same index, so that both are drawn
// or neither. If they are not drawn the sums are equal, and if they are, they differ by at
// most 2B, B being the integer clip: Config.Sensitivity is 2B, the distance of the
// unsampled sums. A spare attempt draws a new sample, adds new noise, and is charged like a
// round.
//
// # Determinism
//
// Fold must give the same integers on every machine. It uses IEEE 754 addition,
// multiplication, division and square root only, each rounded separately (explicit
// conversions forbid fused multiply-adds), an exponential made of these, and rounds the
// result to a public grid.
package global
