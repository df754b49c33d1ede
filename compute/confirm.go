package compute

import (
	"fmt"
	"strings"

	"choir/crypto/field"
	"choir/protocol"
)

// hearResult handles a Result. Before the node has read its own earlier messages, the Result waits.
func (n *Node) hearResult(m *protocol.Result, data []byte) error {
	if !n.behind {
		return n.conclude(m)
	}
	n.result = data
	n.eff.Put("result", data)
	return nil
}

// caughtUp handles the Result that waited, after what the node is ready to do itself.
func (n *Node) caughtUp() error {
	if n.advance(); n.ended || n.result == nil {
		return nil
	}
	e, m, err := n.s.Receive(n.result)
	if err != nil {
		return err
	}
	n.result = nil
	n.eff.Delete("result")
	n.s.Refuse(n.eff, e, n.conclude(m.(*protocol.Result)))
	return n.openNext()
}

// openNext opens the attempt whose Round came before the result of the attempt before it.
func (n *Node) openNext() error {
	if n.next == nil || n.ended {
		return nil
	}
	data := n.next
	n.next = nil
	n.eff.Delete("next")
	e, m, err := n.s.Receive(data)
	if err == nil {
		n.s.Refuse(n.eff, e, n.openRound(m.(*protocol.Round), data))
	}
	return err
}

// conclude ends an attempt with the aggregator's result, and confirms that.
func (n *Node) conclude(m *protocol.Result) error {
	if m.Round != n.round || m.Attempt > n.attempt {
		if m.Round <= n.round {
			return protocol.ErrDuplicate
		}
		return n.checkAttempt(m.Round, m.Attempt)
	}
	switch {
	case m.Outcome == protocol.OutcomeVoid:
		return n.concludeVoid(m)
	case m.Attempt < n.attempt || n.at.phase == settled:
		return protocol.ErrDuplicate
	case n.at.phase != revealed:
		return fmt.Errorf("%w: a result for round %d, in which this node has revealed nothing",
			protocol.ErrMismatch, m.Round)
	}
	own := n.at.agrees[n.self]
	if err := n.checkPartials(m); err != nil {
		n.finish(protocol.Fail(protocol.ClassIntegrity, "result of round %d: %w", m.Round, err))
		return nil
	}
	switch {
	case protocol.SetDigest(n.s, m.Round, m.Attempt, m.Set) != own.Set:
		return fmt.Errorf("%w: the result of round %d is over another set than was agreed",
			protocol.ErrMismatch, m.Round)
	case m.Commitments != own.Commitments:
		return fmt.Errorf("%w: the result of round %d has another sum of commitments than was agreed",
			protocol.ErrMismatch, m.Round)
	}
	digest, err := protocol.ResultDigest(m)
	if err != nil {
		return err
	}
	value, err := n.fingerprint(digest)
	if err == nil {
		err = n.settle(m, digest, value)
	}
	if err == nil {
		err = n.openNext()
	}
	n.check(err)
	return nil
}

// concludeVoid confirms that an attempt is void. The node has not revealed in it, and will not: it
// has left it, or it leaves the phases from which it would.
func (n *Node) concludeVoid(m *protocol.Result) error {
	if m.Attempt == n.attempt {
		switch n.at.phase {
		case revealed, settled:
			return fmt.Errorf("%w: round %d attempt %d is called void, and this node has revealed in it",
				protocol.ErrMismatch, m.Round, m.Attempt)
		case void:
		default:
			n.at.out = nil
			if err := n.enter(void); err != nil {
				return err
			}
		}
		n.resends = nil
	}
	if n.get(confirmKey(m.Round, m.Attempt)) != nil {
		return protocol.ErrDuplicate
	}
	digest, err := protocol.ResultDigest(m)
	if err == nil {
		err = n.sendConfirm(&protocol.Confirm{Round: m.Round, Attempt: m.Attempt, Result: digest})
	}
	n.check(err)
	return nil
}

func confirmKey(round, attempt uint32) string { return protocol.RecordKey("confirm", round, attempt) }

// sendConfirm signs, stores and sends a Confirm, and deletes those of earlier rounds.
func (n *Node) sendConfirm(m *protocol.Confirm) error {
	b, err := n.sign(m)
	if err != nil {
		return err
	}
	for _, key := range n.view.Keys("confirm/") {
		if !strings.HasPrefix(key, protocol.RecordKey("confirm", m.Round)+"/") {
			n.eff.Delete(key)
		}
	}
	n.eff.Put(confirmKey(m.Round, m.Attempt), b)
	o := protocol.Outgoing{Subject: n.s.SubjectConfirm(n.self, m.Round, m.Attempt), Data: b}
	n.confirms = append(n.confirms, o)
	n.eff.Send = append(n.eff.Send, o)
	n.resends = append(n.resends, o)
	n.seen = n.now
	return nil
}

// restoreConfirms reads the Confirms that were signed in this round and at the end of the last one.
func (n *Node) restoreConfirms() error {
	for _, key := range n.view.Keys("confirm/") {
		data := n.view.Get(key)
		_, m, err := n.s.Receive(data)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		c, ok := m.(*protocol.Confirm)
		if !ok {
			return fmt.Errorf("%s holds a %T", key, m)
		}
		n.confirms = append(n.confirms,
			protocol.Outgoing{Subject: n.s.SubjectConfirm(n.self, c.Round, c.Attempt), Data: data})
	}
	return nil
}

// ownConfirm checks this node's own Confirm, as the bus delivers it.
func (n *Node) ownConfirm(from uint32, m *protocol.Confirm, data []byte) error {
	if from != n.self {
		return fmt.Errorf("%w: another node's confirm", protocol.ErrUnknown)
	}
	return n.checkOwn("confirm", confirmKey(m.Round, m.Attempt), m.Round, m.Attempt, data)
}

// fingerprint returns what confirms the revealed partial sum for a result.
func (n *Node) fingerprint(result protocol.Digest) (value protocol.Value, err error) {
	f, v := n.s.Fingerprint(result), make(field.Vector, n.s.ChunkLen(0))
	for i := range n.s.Chunks() {
		c, err := protocol.ViewChunk(n.get(n.partialKey(n.round, uint32(i))))
		if err != nil {
			return value, err
		}
		plain, err := n.openShare(n.aggregatorSecret(), c)
		if err != nil {
			return value, err
		}
		part := v[:n.s.ChunkLen(i)]
		if err := field.DecodeVector(part, plain); err != nil {
			return value, err
		}
		f.Write(part)
	}
	opening := protocol.Opening{Salt: n.s.Salt(n.ownSecret(), n.round, n.attempt, n.at.agrees[n.self].Set)}
	return opening.Value(f), nil
}

// checkPartials compares the partial sums that a result names with what this node revealed and the
// others signed.
func (n *Node) checkPartials(m *protocol.Result) error {
	if len(m.Partials) != n.nodes {
		return fmt.Errorf("%w: it names %d partial sums of %d nodes",
			protocol.ErrMismatch, len(m.Partials), n.nodes)
	}
	for k, d := range m.Partials {
		want := n.at.agrees[n.node(k)].Partial
		if k == n.k {
			_, own, err := n.s.Receive(n.get(n.revealKey(m.Round)))
			if err != nil {
				return err
			}
			want = own.(*protocol.Partial).Vector
		}
		if d != want {
			return fmt.Errorf("%w: the result names another partial sum than %s signed", protocol.ErrMismatch,
				n.s.Name(n.node(k)))
		}
	}
	return nil
}

// settle ends the round. That this node has revealed stays on record, the vector does not.
func (n *Node) settle(m *protocol.Result, digest protocol.Digest, value protocol.Value) error {
	if err := n.enter(settled); err != nil {
		return err
	}
	n.last = make([]uint32, len(m.Set))
	for i, e := range m.Set {
		n.last[i] = e.Party
	}
	n.eff.Put("last", appendU32s(nil, n.last))
	n.forget()
	n.keys.Advance(m.Round + 1)
	n.settled = digest
	n.eff.Put("settled", digest[:])
	n.resends = nil
	confirm := &protocol.Confirm{Round: m.Round, Attempt: m.Attempt, Result: digest, Value: value}
	var err error
	if m.Round < n.s.Plan.Rounds {
		if confirm.Key, confirm.For, err = n.replaceKey(); err != nil {
			return err
		}
	}
	if err := n.sendConfirm(confirm); err != nil {
		return err
	}
	n.eff.Put(n.revealKey(m.Round), []byte{})
	for i := range uint32(n.s.Chunks()) {
		n.eff.Delete(n.partialKey(m.Round, i))
	}
	n.eff.Note(protocol.Notice{
		Code:    protocol.NoteResult,
		Round:   m.Round,
		Attempt: m.Attempt,
		Count:   len(m.Set),
		Total:   n.parties,
		Detail:  m.Outcome.String(),
	})
	if m.Round == n.s.Plan.Rounds {
		n.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: m.Round})
		n.end(nil)
	}
	return nil
}
