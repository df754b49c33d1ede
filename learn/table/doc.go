// Package table computes counts, means, variances, histograms and contingency tables under
// differential privacy, from one noisy sum over the records of all parties.
//
// Every record becomes a vector of integers: one 2^f for each table that counts it, and u
// and u^2 for each number, where u in [-1, 1] is its place in the public range. The sum of
// the vectors and its noise are all that is released.
package table
