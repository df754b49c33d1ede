// Package privacy computes (epsilon, delta) upper bounds for noise that is hidden from an adversary,
// and the noise that a target requires.
//
// Its contract:
//
//   - Everything that protects data is an integer: sensitivities and variances are in
//     grid units (2^-f of the plan) and their squares, and the noise is a sum of
//     independent discrete Gaussians over the integers. Floating point is used
//     for accounting only, never for noise.
//   - Every bound is a true upper bound. Conversions optimise over valid choices, so that an
//     inaccurate optimisation makes a bound looser but never invalid, and round-off is
//     added on the unfavourable side.
//   - Only noise that the adversary cannot subtract is counted. Callers state it
//     in [Release]: the number of independent parts that stay hidden, and the variance of each.
//   - Functions are pure: no time, no randomness, no I/O, no globals.
//
// docs/privacy.md states every theorem used here with its source, assumptions and
// constants, and proves those that are new.
package privacy
