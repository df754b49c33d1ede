// Package paper4 repeats the experiments of [DP-PVI] over the secure sum.
//
// The data is UCI Adult as the paper's code prepares it: both files together, a half
// trains and a half tests, numbers standardised on all rows, which is not private itself,
// and divided among 10 or 200 clients by (rho, kappa).
package paper4
