// Package app has the applications: what the sums of a plan are for. An
// application fixes the public model, how sums update it, what a party
// contributes, and how much one record may change a contribution. A plan carries
// the application's name and its public parameters.
package app
