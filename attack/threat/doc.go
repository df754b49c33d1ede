// Package threat tests by measurement whether a mechanism keeps its claimed
// differential privacy.
//
// Its contract:
//
//   - A Test sees only outputs of a mechanism: real numbers from many runs on one
//     input and on its neighbour. It is independent of the noise, the accountant
//     and the protocol, so that it can't repeat their mistakes.
//   - It returns a lower confidence bound, which is above the mechanism's true
//     epsilon with at most the stated probability, for any mechanism. A bound above
//     a claimed epsilon refutes the claim; a bound below it proves nothing.
//   - Functions are pure: no time, no randomness, no I/O.
package threat
