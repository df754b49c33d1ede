// Package threat holds what an adversary may try against the promises of a plan,
// and judges by measurement whether they were kept.
//
// Its contract:
//
//   - A Test sees a mechanism from outside: real numbers that came out of many
//     runs on one input and on its neighbour. It knows nothing of the noise, the
//     accountant or the protocol, so it can't repeat their mistakes.
//   - What it returns is a lower confidence bound: it lies above the mechanism's
//     true epsilon with no more than the stated probability, whatever the
//     mechanism is. A bound above a claimed epsilon refutes the claim; one below
//     it proves nothing but that this test didn't find more.
//   - Functions are pure: no time, no randomness, no I/O.
package threat
