package party

import "choir/protocol"

// The states of a party.
const (
	joining     = "joining"     // some node, or the aggregator, has no channel with it yet
	idle        = "idle"        // no attempt is open that it knows of
	called      = "called"      // an attempt is open that it can't serve yet: rounds before it aren't settled
	computing   = "computing"   // the application computes its update
	contributed = "contributed" // its contribution is out, and durable
	ended       = "ended"
)

// Phase is what the party is at after a step, by the names of Transitions.
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

// Transitions are all moves that one step makes.
func Transitions() []protocol.Transition {
	t := []protocol.Transition{
		{From: joining, To: idle, On: "the last Key"},
		{From: joining, To: called, On: "Round"},
		{From: idle, To: called, On: "Round, while rounds before it aren't settled"},
		{From: idle, To: computing, On: "Round on the model that it has, and the budget pays"},
		{From: called, To: computing, On: "the last Key, or the results of all rounds before"},
		{From: called, To: idle, On: "the result of the very round"},
		{From: computing, To: contributed, On: "Proposal: charged, durable, then sent"},
		{From: computing, To: called, On: "Round of a later round"},
		{From: computing, To: idle, On: "the round's result, without this party"},
		{From: contributed, To: idle, On: "Result, accepted, rejected or void"},
		{From: contributed, To: called, On: "Round of the next round"},
		{From: contributed, To: computing, On: "Round of another attempt"},
	}
	for _, s := range []string{joining, idle, called, computing, contributed} {
		t = append(t, protocol.Transition{From: s, To: ended, On: "the last Result, Abort, expiry, the budget's refusal, or a result that contradicts what was signed"})
	}
	return t
}
