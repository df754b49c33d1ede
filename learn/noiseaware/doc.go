// Package noiseaware computes posteriors that count the privacy noise. Its input is public:
// the noisy sums that rounds revealed, the public points at which parties computed them, and
// the variance of their noise. Nothing here costs privacy.
//
// Near its maximum w* a log-likelihood has the score H (w* - m) at the point m, with H its
// curvature, and given the data the weights are N(w*, H^-1) but for the prior. A round reveals
// the score at its point with Gaussian noise. The weighted mean of the rounds, z at the mean
// point m with noise of variance V, tells of the weights
//
//	z + H m ~ N(H w, H + V),
//
// where H is the sampling noise and V the privacy noise. With the prior N(0, I/P) the
// posterior has the precision P + H (H+V)^-1 H. docs/noise-aware.md has the derivation.
//
// Trace is of rounds whose curvature was measured, Diagonal of those that tell a precision of each weight,
// Class of the intercept where one class is rare, Residuals and Numbers of the variance of an observation.
// Parties' bounded steps have another law, in package newton.
package noiseaware
