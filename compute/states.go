package compute

import (
	"fmt"

	"choir/protocol"
)

// phase is the node's progress in an attempt. It only moves forward, until another attempt
// opens.
type phase int

const (
	idle       phase = iota // no attempt has opened
	collecting              // contributions are accepted
	held                    // its list is signed; contributions are not accepted any more
	agreed                  // the intersection is signed
	void                    // nothing is revealed in this attempt: not with these sets, or not any more
	revealed                // the partial sum is published: the round is over for this node
	settled                 // the result has arrived: nothing of the attempt matters any more
)

// ended is the state of a node whose session, or process, is over.
const ended = "ended"

func (p phase) String() string {
	return [...]string{"idle", "collecting", "held", "agreed", "void", "revealed", "settled"}[p]
}

// Phase returns the node's state, by the names of Transitions.
func (n *Node) Phase() string {
	if n.ended {
		return ended
	}
	return n.at.phase.String()
}

// Transitions returns all moves that a node makes. It stops rather than make another.
func Transitions() []protocol.Transition {
	t := []protocol.Transition{
		{From: "collecting", To: "held", On: "it accepts no more contributions, with at least N_min"},
		{From: "held", To: "agreed", On: "all M lists are here"},
		{From: "agreed", To: "void", On: "M agrees differ, or name fewer than N_min, or a void Result"},
		{From: "collecting", To: "void", On: "a void Result"},
		{From: "held", To: "void", On: "a void Result"},
		{From: "agreed", To: "revealed", On: "M agrees are equal and nothing was revealed in the round"},
		{From: "revealed", To: "settled", On: "Result over the agreed set"},
	}
	for _, p := range []phase{idle, collecting, held, agreed, void, settled} { // revealed waits for the result
		t = append(t, protocol.Transition{
			From: p.String(), To: "collecting", On: "Round of a later attempt, in a round without a reveal",
		})
	}
	for p := idle; p <= settled; p++ {
		t = append(t, protocol.Transition{
			From: p.String(), To: ended,
			On: "Abort, the plan's expiry, the last round's Result, or a failure of its own",
		})
	}
	return t
}

// enter moves the node to another phase. An illegal move is a fault of this program: the node
// stops rather than continue from a state without a rule.
func (n *Node) enter(to phase) error {
	from := n.at.phase
	for _, t := range Transitions() {
		if t.From == from.String() && t.To == to.String() {
			n.setPhase(to)
			return nil
		}
	}
	return fmt.Errorf("illegal transition from %s to %s", from, to)
}

// setPhase sets the phase and whether contributions are accepted in it.
func (n *Node) setPhase(p phase) {
	n.at.phase = p
	n.open = p == collecting
}
