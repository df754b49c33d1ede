// Package workshop repeats Table 5 of the workshop paper (Sharma and others:
// Differentially private federated variational inference, 2019): DP-PVI by local
// optimisation, asynchronous, on UCI Adult (80 : 20, 10 clients), in its authors' own
// accounting; and sets Choir's best secure method beside it under the same epsilon.
//
// The authors' accounting is the classical moments accountant with integer orders up to
// 32 for add-remove neighbours; what it allows is run here as it is, and the same
// noise is also accounted for by Choir's own accountant.
package workshop
