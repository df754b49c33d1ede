// Package paper4 repeats the experiments of the dissertation's Paper IV (Heikkilä and
// others: Differentially private partitioned variational inference, TMLR 2023) over the
// secure sum.
//
// The data is UCI Adult as the paper's code prepares it: both files together, a half
// trains and a half tests, numbers standardised on all rows, which is itself not
// private, and shared out to 10 or 200 clients by (rho, kappa).
package paper4
