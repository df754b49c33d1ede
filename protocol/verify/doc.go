// Package verify checks a finished session offline: from the signed plan and
// the aggregator's transcript alone, anybody recomputes everything that the
// protocol promises about the public side of a session.
//
// Transcript accepts exactly this sequence (see package protocol for the
// entries), and nothing before, between or behind:
//
//	transcript = Key Open* attempt* [Abort]
//	attempt    = Round Open* [ Contribution* Hold* Agree{M} outcome | testimony Abort ]
//	outcome    = Result(void) | (Partial Vector){M} Result
//	testimony  = Contribution* Hold* Agree* (Partial [Vector])*
//
// and of it:
//
//   - the plan is sound, keeps its privacy claim, and is signed by every member;
//   - every entry is signed by the member that it is from, under this plan;
//   - rounds and attempts follow one another, no more of them than the plan pays
//     for, each on the model that the results before it lead to;
//   - what a revealed attempt sums is the intersection of the M lists, all M
//     nodes signed that set and no other, it has at least N_min parties, and
//     every one of them signed the contribution that is counted;
//   - the partial sums are what the nodes signed and add up to the aggregate
//     that the result names; folding it in gives the model that it names;
//   - an attempt is void only if its signed sets allowed no reveal, and rejected
//     only if its sum can't be folded in;
//   - in audit mode, the commitments of the set open to the aggregate.
//
// The aggregator ends a session in which somebody contradicted what was signed.
// What the members had signed in that attempt goes on record as testimony: its
// signatures are checked, and Report.Fault says what doesn't hold in it.
//
// What it can't see: whether a party's update is honest, whether the noise was
// drawn as the plan says, and, without audit mode, whether a compute node summed
// what the parties sent it. A contribution that no node counted may be absent
// from a transcript without a trace; a receipt (see Receipt) shows that one
// should have been there.
//
// Every refusal has class protocol.ClassIntegrity and names the entry, counted
// from 0, and the cause.
package verify
