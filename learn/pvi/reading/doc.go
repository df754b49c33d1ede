// Package reading makes a posterior of what the rounds of a run of package pvi revealed: one that counts the
// noise on the sums. It reads the trace alone, which is public, and no private factor.
//
// What a sum tells depends on the method: a round's is what the private factors lack (NoiseAware), a mixture
// over the points at which parties were counted last (attendance), a mean of noisy steps (climbing) or of
// Newton steps; other rounds reveal the curvature, or the squares of residuals. Package noiseaware, which
// knows no rounds, has the posterior of the scores that this package reads. docs/noise-aware.md has
// the derivation.
package reading
