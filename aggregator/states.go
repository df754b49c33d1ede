package aggregator

import "choir/protocol"

// The states of an aggregator.
const (
	gathering = "gathering" // waiting for channels, before round 1
	open      = "open"      // an attempt is open
	ended     = "ended"
)

// Phase returns the state after a step, by the names of Transitions.
func (a *Aggregator) Phase() string {
	switch {
	case a.ended:
		return ended
	case a.at.round == 0:
		return gathering
	}
	return open
}

// Transitions returns all moves that one step makes. A move from open to open opens another
// attempt.
func Transitions() []protocol.Transition {
	return []protocol.Transition{
		{
			From: gathering, To: open,
			On: "channels of all nodes and all parties, or of N_min parties after the deadline",
		},
		{
			From: open, To: open,
			On: "M agrees that allow no reveal, and a spare attempt is left: the same round again",
		},
		{
			From: open, To: open,
			On: "M partial sums over the agreed set, each the one that was signed: the next round",
		},
		{From: gathering, To: ended, On: "nothing moved for too long, or expiry"},
		{
			From: open, To: ended,
			On: "the last round's sum, confirmed by all nodes, no spare attempt, a contradiction by a node, " +
				"nothing moved for too long, or expiry",
		},
	}
}
