package compute

import (
	"slices"

	"choir/protocol"
)

// contributed queues the receipt of a complete contribution. Receipts that were sent are not
// kept: a party that has lost its receipt asks for another.
func (n *Node) contributed(from uint32, repeated bool) {
	n.at.receipts = append(n.at.receipts, &protocol.Receipt{
		Round:   n.round,
		Attempt: n.attempt,
		Party:   from,
		Bundle:  n.contributions[from].bundle,
	})
	if repeated {
		return
	}
	if _, expected := slices.BinarySearch(n.last, from); expected {
		n.at.expected++
	}
	n.eff.Note(protocol.Notice{
		Code:    protocol.NoteHeld,
		Round:   n.round,
		Attempt: n.attempt,
		Peer:    n.s.Name(from),
		Count:   n.count,
		Total:   n.parties,
	})
}

// sendReceipts signs the queued receipts, with one signature for many, and sends each to its
// party.
func (n *Node) sendReceipts() error {
	for some := range slices.Chunk(n.at.receipts, protocol.MaxMembers) {
		signed, err := n.s.SignReceipts(n.cfg.Key, n.self, some)
		if err != nil {
			return err
		}
		n.eff.Send = slices.Grow(n.eff.Send, len(signed))
		for i, b := range signed {
			n.eff.Emit(n.s.SubjectReceipt(n.self, some[i].Party, n.round, n.attempt), b)
		}
	}
	n.at.receipts = nil
	return nil
}
