// Package collude measures what members of a session that work together learn from it.
//
// A Target is a plan's description of a session: its members, noise and claim. Every attack runs
// real sessions on these terms, with the production roles, real keys and a real bus, on inputs
// that it chooses, and collects the joint View of a Coalition: what its members received, sent
// and stored. An attack computes from the View, the plan and what the definition of differential
// privacy lets the adversary know (the honest members' inputs but the victim's). Only the judgement of its
// answer knows the rest.
//
// The victim is party 0. A coalition's parties are the last ones of the roster, its compute
// nodes the first ones.
//
// An attack's verdict is about one promise of docs/threat-model.md. Each run has positive
// controls: the same attack where it must succeed. A control that does not break means that the
// measurement is blind.
package collude
