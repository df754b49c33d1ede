// Package workshop repeats Table 5 of [Workshop]: DP-PVI by local optimisation, asynchronous,
// on UCI Adult (80 : 20, 10 clients), in its authors' own accounting, and Choir's best secure
// method under the same epsilon.
//
// The authors' accounting is the classical moments accountant with integer orders up to
// 32 for add-remove neighbours; what it allows is run here as it is, and the same
// noise is also accounted for by Choir's own accountant.
package workshop
