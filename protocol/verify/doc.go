// Package verify checks a finished session offline. From the signed plan and the aggregator's
// transcript alone, anyone can recompute all that the protocol guarantees about the public
// side of a session.
//
// Transcript accepts exactly this sequence of entries (see package protocol):
//
//	transcript = Key Open* attempt* ( Confirm{M} | [Confirm*] Abort | [Round Open* [Confirm{M}]] )
//	attempt    = Round Open* [ Confirm{M} Contribution* Hold* Agree{M} outcome | evidence Abort ]
//	outcome    = Result(void) | (Partial Vector){M} Result
//	evidence   = Confirm* Contribution* Hold* Agree* (Partial [Vector])*
//
// and checks that
//
//   - the plan is valid, meets its privacy claim, and is signed by every member;
//   - every entry is signed by its sender under this plan;
//   - rounds and attempts are in order, no more of them than the plan's budget allows, each on
//     the model that the results before it lead to;
//   - the set of a revealed attempt is the intersection of the M held lists and has at least
//     N_min parties, all M nodes signed it, and every party in it signed the contribution that
//     is counted;
//   - the partial sums are what the nodes signed and add up to the aggregate that the result
//     names, and folding it in gives the model that the result names;
//   - every node confirmed every result, before the next one, with the fingerprint of its partial
//     sum;
//   - an attempt is void only if its signed sets allow no reveal, and rejected only if its sum
//     cannot be folded in;
//   - in audit mode, the commitments of the set open to the aggregate.
//
// The aggregator ends a session in which a member contradicted what was signed. What the
// members had signed in that attempt is then recorded as evidence: its signatures are checked,
// and Report.Fault is the first contradiction in it.
//
// A transcript does not show whether a party's update is honest, whether the noise was drawn
// as the plan requires, and, without audit mode, whether a compute node summed what the
// parties sent it. A contribution that no node counted may be missing from a transcript; a
// receipt (see Receipt) proves that it should be there.
//
// Every error has class protocol.ClassIntegrity and names the entry, counted from 0, and the
// cause.
package verify
