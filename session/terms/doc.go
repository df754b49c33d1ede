// Package terms makes, checks and describes plans: from the terms that people
// agree on to noise, bounds and grid, and from a plan to what it guarantees
// and costs. It runs nothing: what a plan's sums are for is in package app, and
// how its members run in package run.
package terms
