// Package thesis repeats the case study of [Thesis], chapter 4: Bayesian linear regression of one
// weight by many small clients.
//
// Data: every client has rho points with x from N(0, 1) and y = theta x + noise of
// standard deviation sd; the prior is N(0, 5). Quality is the divergence KL(q || p) from
// the exact posterior p, averaged over the last ten rounds, as in [Thesis].
//
// The epsilon of 10 is an upper bound for replace-one neighbours here, where [Thesis]
// counts add-remove neighbours by the moments accountant; and no client lifts its own precision after
// noising, which [Thesis] does and names as the flaw of its accounting (section 4.3.3). Negative
// precisions are lifted once, in the aggregate.
package thesis
