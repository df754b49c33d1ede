// Package simulate runs whole sessions, every role of a plan, in one thread
// under a virtual clock. One seed determines everything: the plan, the random
// numbers of every member, which messages are lost, duplicated, delayed, reordered
// or forged, which members crash at which point between "make durable" and "send",
// and which have a wrong clock, are slow, cut off or late, or leave.
//
// The driver follows the contract of protocol.Machine and is independent of
// package host: a batch of steps becomes durable in one transaction before any of
// its messages is sent. A crash loses the whole batch, or comes after it is
// durable and before some or all of its messages are sent.
//
// After every batch an oracle, which sees every secret, checks the session's
// invariants:
//
//   - a node reveals once per round, over a set that all nodes' lists give and
//     that has at least N_min parties, and exactly that set's shares;
//   - from all that was revealed in a round at most one total can be computed: of the
//     honest parties' vectors, all members but one honest node and the honest parties,
//     with the broker, can compute the sums of the rounds and nothing else, by linear
//     algebra over every share and sum that was sealed for one of them;
//   - no one seals two plaintexts under one key and nonce, rewound or not;
//   - no party sends two contents for one attempt, no noise is used twice, and
//     every contribution's charge is durable before its first byte is sent;
//   - the published aggregate is the sum of exactly the set's contributions;
//   - every party's model and private state are the ones that the published
//     results lead to: global - prior - factors = the noise of the accepted rounds;
//   - no member signs two different messages for one purpose, and a receipt is
//     for a contribution that its node lists;
//   - no honest member is accused, and once the faults end, the session ends.
//
// Members may lie: a profile draws a coalition of all nodes but one at most, the
// aggregator and parties, and the rows of the table of cheats that each follows, and the
// broker may show a listener another message than the others get. The oracle records
// all versions of what liars sign, and checks everything that honest members do with
// it; a session with liars need not end.
//
// The bus is a durable log that may lose a publish attempt, the model of
// package transport: a stored message is delivered to every listener, in any
// order, any number of times. Signatures and channels are replaced by cheap ones of
// the same interface (see crypto.go); everything else is the production code.
//
// A run is a function of its seed and profile, or of its script: the setup and
// the list of faults, which Run records, Shrink reduces and Replay takes. Nothing
// here is for production use; keys and randomness come from the seed.
package simulate
