// Package privacy turns the noise that stays hidden from an adversary into an
// (epsilon, delta) that is a true upper bound, and back.
//
// Its contract:
//
//   - Everything that protects is an integer: sensitivities and variances are
//     grid units (2^-f of the plan) and their squares, and the noise is a sum of
//     independent discrete Gaussians over the integers. Floating point is used
//     for accounting only, never for noise.
//   - What is called a bound is one: conversions optimise over valid choices, so
//     that an optimiser's inaccuracy costs tightness and never truth, and
//     round-off is added on the unfavourable side.
//   - Only noise that the adversary can't subtract is counted. Callers state it
//     in Release: how many independent parts stay hidden, and each part's variance.
//   - Functions are pure: no time, no randomness, no I/O, no globals.
//
// docs/privacy.md states every theorem used here with its source, assumptions and
// constants, and proves those that are the project's own.
package privacy
