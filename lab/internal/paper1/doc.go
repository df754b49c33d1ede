// Package paper1 repeats the experiments of [DCA] over the secure sum.
//
// Figure 2 learns Bayesian linear regression on red wine, white wine and abalone from
// noisy sufficient statistics. As in the paper, every column is centred and scaled to a
// range of length 10 by the data itself, which is not private and is assumed to be known;
// the methods' bounds are [-7.5, 7.5].
package paper1
