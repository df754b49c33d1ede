// Package stats is Bayesian linear regression from noisy sufficient statistics: one secure
// sum of X'X, X'y and y'y is all that is revealed about the records ([DCA], section 3.2),
// and the posterior is post-processing.
//
// # Statistics
//
// A record is z = (x, 1, y): D numbers, the features, the bias and the target, each shifted
// and scaled by public numbers, rounded to the grid 2^-f, and scaled as a whole, on the
// integers, so that its L2 norm is at most R. It contributes the D(D+1)/2 different
// products z_i z_j, as integers in units of 2^-2f: 5 times the squares and 7 times the
// others. The weights are close to 1 : sqrt(2), with which the products are an isometric
// image of the matrix zz'; so the noise on the products off the diagonal is 7/5 times
// smaller than on the squares, at no cost (see Config.Sensitivity).
//
// Scaling a record as a whole keeps its target at x.w: it only has a smaller weight.
// Clipping single columns, as the projection of [DCA] does, biases the line that is to be
// fitted. Both are implemented: Config.Radius and Config.Threshold.
//
// # Private thresholds
//
// Bounds that are known without the data are wide, and noise grows with their square.
// Algorithm 2 of [DCA] spends a part of the budget on the columns' standard deviations
// first, and clips in units of these. Here the first Config.MomentRounds rounds sum every
// column's value and square, clipped to the public bounds; every later round uses the means
// and standard deviations of these sums, all of them public numbers by then.
//
// # The budget
//
// All rounds of a plan have one sensitivity and one noise. Moments are scaled so that their
// sensitivity is that of the statistics (Config.Sensitivity is for both). The budget is
// split by numbers of rounds: under Gaussian noise the mean of k releases of the same
// statistics is as accurate as one release with a k-th of the variance, at the same cost.
// One round of moments and nine of statistics spend a tenth of the budget on moments; one
// and one are the two rounds of Algorithm 2.
//
// # State
//
// The public state counts the accepted rounds of both kinds and adds their sums. A party
// keeps no private state.
package stats
