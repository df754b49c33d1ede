// Package external computes a party's update by a program of that party, in any language:
// one run of the program for a request on its standard input, with an answer on its standard
// output.
//
// In a session the program runs once for each shard in a round, with that shard's records alone:
// shards is then 1 in every request, and the shard of every record 0.
//
// Both are .npz archives as numpy.savez writes them: a zip of .npy arrays of <f8 in C
// order, with the array "header" being JSON in UTF-8 as bytes (|u1).
//
// # The request
//
//	header  header
//	global  (dim)           natural parameters of the public posterior
//	cavity  (shards, dim)   the same without each shard's factor; may be improper
//	x       (rows, features) the records, encoded by the plan's schema
//	y       (rows)          their targets
//	shard   (rows)          the shard of each record, from 0
//
// Natural parameters are laid out as in package gauss: for the mean-field family first
// mean/variance of every weight, then -1/(2 variance) of every weight.
//
// # The answer
//
//	header  {"version": 1, "round": the request's}
//	update  (shards, dim)   the posterior that each shard would choose, minus global,
//	                        in natural parameters; (dim) is enough for one shard
//
// The program's standard error is copied to Config.Stderr. The program gets neither keys
// nor shares nor noise, and of the environment only what [inherited] lists. Clipping, rounding, noise,
// sharing and accounting happen after the answer, and no answer can loosen them: see
// Outside in package pvi for what the privacy claim then requires of the program.
package external
