// Package terms makes, checks and describes plans: from the terms that people
// agree on to noise, bounds and grid, and from a plan to what it guarantees
// and costs.
package terms
