// Package external is how a party's update is computed by a program of the party's
// own, in any language: one run of the program a round, a request on its standard
// input and an answer on its standard output.
//
// Both are .npz archives as numpy.savez writes them: a zip of .npy arrays of <f8 in C
// order, with the array "header" being JSON in UTF-8 as bytes (|u1).
//
// # The request
//
//	header  Header
//	global  (dim)           natural parameters of the public posterior
//	cavity  (shards, dim)   the same without each shard's factor; maybe improper
//	x       (rows, features) the party's records, encoded by the plan's schema
//	y       (rows)          their targets
//	shard   (rows)          the shard of each record, from 0
//
// Natural parameters are laid out as in package gauss: for the mean-field family
// first mean/variance of every weight, then -1/(2 variance) of every weight.
//
// # The answer
//
//	header  {"version": 1, "round": the request's}
//	update  (shards, dim)   the posterior that each shard would choose, minus global,
//	                        in natural parameters; (dim) will do for one shard
//
// What the program prints to its standard error is the party's own affair and goes
// where Config.Stderr says. The program gets neither keys nor shares nor noise, and
// of the environment only Environment. Clipping, rounding, noise, sharing and
// accounting happen after the answer, and whatever it holds can't loosen them:
// package pvi (Outside) says what the privacy claim then asks of the program.
package external
