package verify

import (
	"fmt"

	"choir/protocol"
)

// Inclusion is what a party's receipts prove together with a transcript.
type Inclusion struct {
	Party   string
	Round   uint32
	Attempt uint32
	Nodes   []string         // that gave the receipts
	Outcome protocol.Outcome // of the attempt; 0: the session ended while it was open
	Counted bool             // the attempt's sum counts this contribution
}

// Receipt reports whether a party's contribution was counted, given the party's receipts of one
// attempt (signed Receipt messages, one from each node, in any order) and the report of a
// verified transcript. Not being counted is no fault as long as some node gave no receipt. If
// a node gave a receipt and left the contribution out of its held list, Receipt returns an
// error that names the node: both are signed, so together they prove it.
func Receipt(r *Report, receipts [][]byte) (*Inclusion, error) {
	given, first, err := r.receipts(receipts)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "receipt: %w", err)
	}
	a := r.find(first.Round, first.Attempt)
	if a == nil {
		err := mismatch("the transcript has no round %d attempt %d", first.Round, first.Attempt)
		return nil, protocol.Fail(protocol.ClassIntegrity, "receipt: %w", err)
	}
	in := &Inclusion{Party: r.session.Name(first.Party), Round: a.Round, Attempt: a.Attempt, Outcome: a.Outcome}
	for _, node := range given {
		in.Nodes = append(in.Nodes, r.session.Name(node))
		if h := a.holds[node]; h != nil && !lists(h, first) {
			return nil, protocol.Fail(protocol.ClassIntegrity,
				"receipt: %w: %s gave a receipt for %s's contribution and left it out of its list",
				protocol.ErrEquivocate, r.session.Name(node), in.Party)
		}
	}
	e, ok := protocol.Find(a.set, first.Party)
	in.Counted = ok && e.Bundle == first.Bundle
	return in, nil
}

// receipts checks the messages without the transcript: they are signed, for one contribution,
// and from different nodes.
func (r *Report) receipts(messages [][]byte) (nodes []uint32, first *protocol.Receipt, err error) {
	seen := map[uint32]bool{}
	for i, b := range messages {
		e, m, err := r.session.Receive(b)
		if err != nil {
			return nil, nil, fmt.Errorf("message %d: %w", i, err)
		}
		receipt, ok := m.(*protocol.Receipt)
		switch {
		case !ok:
			return nil, nil, fmt.Errorf("message %d: %w: a %s", i, protocol.ErrMismatch, e.Kind)
		case first == nil:
			first = receipt
		case !sameContribution(receipt, first):
			return nil, nil, fmt.Errorf("message %d: %w", i, mismatch("it is for another contribution than the first"))
		case seen[e.From]:
			return nil, nil, fmt.Errorf("message %d: %w", i, mismatch("a second one by %s", r.session.Name(e.From)))
		}
		seen[e.From] = true
		nodes = append(nodes, e.From)
	}
	if first == nil {
		return nil, nil, fmt.Errorf("%w: none given", protocol.ErrMalformed)
	}
	if !r.session.Plan.Is(first.Party, protocol.RoleParty) {
		return nil, nil, fmt.Errorf("%w: member %d is not a party", protocol.ErrUnknown, first.Party)
	}
	return nodes, first, nil
}

// sameContribution reports whether two receipts are for the same contribution to the same attempt.
func sameContribution(a, b *protocol.Receipt) bool {
	return a.Round == b.Round && a.Attempt == b.Attempt && a.Party == b.Party && a.Bundle == b.Bundle
}

func (r *Report) find(round, attempt uint32) *Attempt {
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Round == round && a.Attempt == attempt {
			return a
		}
	}
	return nil
}

func lists(h *protocol.Hold, m *protocol.Receipt) bool {
	e, ok := protocol.Find(h.Entries, m.Party)
	return ok && e.Bundle == m.Bundle
}
