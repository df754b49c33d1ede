// Package simulate runs whole sessions, every role of a plan, in one thread
// under a virtual clock. One seed decides everything: the plan, what every
// member draws at random, and which messages are lost, doubled, delayed,
// reordered or forged, who crashes at which point between "make durable" and
// "send", whose clock is wrong, who is slow, cut off, late, or leaves.
//
// The driver in here follows the contract of protocol.Machine and is
// independent of package host: a batch of steps is made durable in one
// transaction before anything of it leaves; a crash loses the whole batch, or
// comes after it is durable and before some or all of its messages left.
//
// After every batch an oracle, which sees every secret, holds the session to
// its invariants:
//
//   - a node reveals once per round, over a set that all nodes' lists give and
//     that has at least N_min parties, and exactly that set's shares;
//   - from all that was revealed in a round at most one total can be computed;
//   - no attempt leaves a party with two contents, no noise is used twice, and
//     every contribution's charge is durable before its first byte leaves;
//   - the published aggregate is the sum of exactly the set's contributions;
//   - every party's model and private state are the ones that the published
//     results lead to: global - prior - factors = the noise of the accepted rounds;
//   - what a member signed for a purpose it never contradicts, and a receipt
//     stands for a contribution that its node lists;
//   - no honest member is accused, and once the faults end the session does too.
//
// The bus is a durable log that may lose a publish attempt, the model of
// package transport: what is stored reaches every listener, in any order,
// any number of times. Signatures and channels are replaced by cheap ones of
// the same interface (see crypto.go); everything else is the production code.
//
// A run is a function of its seed and profile, or of its script: the setup and
// the list of faults, which Run records, Shrink reduces and Replay takes. Nothing
// here is for production use; keys and randomness come from the seed.
package simulate
