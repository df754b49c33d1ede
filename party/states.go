package party

import "choir/protocol"

// The states of a party.
const (
	joining     = "joining"     // a channel to a node or to the aggregator is missing
	idle        = "idle"        // no known attempt is open
	called      = "called"      // an attempt is open, and earlier rounds are not settled yet
	computing   = "computing"   // the application computes the update
	contributed = "contributed" // the contribution is durable and is sent
	ended       = "ended"
)

// Phase returns the party's state after a step, by the names of Transitions.
func (p *Party) Phase() string {
	switch {
	case p.ended:
		return ended
	case p.proposing:
		return computing
	case p.open != nil:
		return called
	case p.own != nil:
		return contributed
	case len(p.links) < p.computes+1:
		return joining
	}
	return idle
}

// Transitions returns all transitions that one step can make.
func Transitions() []protocol.Transition {
	t := []protocol.Transition{
		{From: joining, To: idle, On: "the last Key"},
		{From: joining, To: called, On: "Round"},
		{From: idle, To: called, On: "Round, while earlier rounds are not settled"},
		{From: idle, To: computing, On: "Round on this party's model, within the budget"},
		{From: called, To: computing, On: "the last Key, or the results of all earlier rounds"},
		{From: called, To: idle, On: "the result of that round"},
		{From: computing, To: contributed, On: "Proposal: charged, durable, then sent"},
		{From: computing, To: called, On: "Round of a later round"},
		{From: computing, To: idle, On: "the round's result, without this party"},
		{From: contributed, To: idle, On: "Result, accepted, rejected or void"},
		{From: contributed, To: called, On: "Round of the next round"},
		{From: contributed, To: computing, On: "Round of another attempt"},
	}
	for _, s := range []string{joining, idle, called, computing, contributed} {
		t = append(t, protocol.Transition{From: s, To: ended,
			On: "the last Result, Abort, expiry, a refused charge, or a result that contradicts what was signed"})
	}
	return t
}
