package compute

import (
	"bytes"
	"fmt"

	"choir/crypto/commit"
	"choir/protocol"
)

// openRound moves the node to an attempt that the aggregator opened: forward only, and never
// to a round in which this node has revealed.
func (n *Node) openRound(m *protocol.Round, data []byte) error {
	if m.Round <= n.newest {
		if m.Round == n.round && m.Attempt == n.attempt {
			return protocol.ErrDuplicate
		}
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrRevealed, m.Round, m.Attempt)
	}
	if err := n.checkNew(m); err != nil {
		return err
	}
	if n.at.phase == revealed || n.result != nil { // the result of that attempt comes first
		return n.waits(m, data)
	}
	if m.Last != n.settled {
		return fmt.Errorf("%w: round %d is opened after another result than this node confirmed",
			protocol.ErrMismatch, m.Round)
	}
	if err := n.sendReceipts(); err != nil { // of the previous attempt
		return err
	}
	n.forget()
	if err := n.enter(collecting); err != nil {
		return err
	}
	n.begin(m)
	n.beginAgreement(n.now)
	n.persistRound(data)
	return nil
}

// waits keeps a Round for when the result before it is here. Of several for one attempt the first counts, as
// it does at the parties, which contribute to its model.
func (n *Node) waits(m *protocol.Round, data []byte) error {
	if n.next != nil {
		_, before, err := n.s.Receive(n.next)
		if err != nil {
			return fmt.Errorf("next: %w", err)
		}
		first, _ := before.(*protocol.Round)
		switch {
		case bytes.Equal(n.next, data):
			return protocol.ErrDuplicate
		case first.Round == m.Round && first.Attempt == m.Attempt:
			return fmt.Errorf("%w: round %d attempt %d on two models", protocol.ErrEquivocate, m.Round, m.Attempt)
		case first.Round > m.Round || first.Round == m.Round && first.Attempt > m.Attempt:
			return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, m.Round, m.Attempt)
		}
	}
	n.next = data
	n.eff.Put("next", data)
	return nil
}

// beginAgreement starts the attempt that the intake has begun.
func (n *Node) beginAgreement(openedAt int64) {
	n.at = agreement{
		openedAt: openedAt,
		holds:    map[uint32]*protocol.Hold{},
		covered:  map[uint32]int{},
		agrees:   map[uint32]*protocol.Agree{},
	}
	n.setPhase(collecting)
	n.resends = nil
	n.resends = append(n.resends, n.confirms...) // a party may have missed one
	n.seen = n.now
	if n.group != nil {
		n.group = newGroup(n.s)
	}
}

// advance does everything that the attempt is ready for.
func (n *Node) advance() {
	if n.behind {
		return // this node may have sent more than its store has
	}
	if n.at.phase == collecting && n.closes() {
		n.check(n.hold())
	}
	if n.at.phase == held && len(n.at.holds) == n.nodes {
		n.check(n.agree())
	}
	if n.at.phase == agreed && len(n.at.agrees) == n.nodes {
		n.check(n.reveal())
	}
}

// closes reports whether the node stops accepting contributions: all parties have
// contributed; or those of the previous round have and the grace is over; or the deadline has
// passed; or another node has closed and no more could count. It needs N_min contributions.
func (n *Node) closes() bool {
	if n.count == n.parties {
		return true
	}
	a := &n.at
	if n.count < int(n.s.Plan.MinParties) {
		return false
	}
	if a.allAt == 0 && n.allExpected() {
		a.allAt = n.now
	}
	return (a.allAt > 0 && n.now >= a.allAt+int64(n.s.Plan.GraceMS)) ||
		n.now >= a.openedAt+int64(n.s.Plan.DeadlineMS) || n.peerClosed()
}

func (n *Node) allExpected() bool {
	return n.last != nil && n.at.expected == len(n.last)
}

// peerClosed reports whether this node has every contribution on some node's list.
func (n *Node) peerClosed() bool {
	for node, h := range n.at.holds {
		n.at.covered[node] += n.reach(h.Entries[n.at.covered[node]:])
		if n.at.covered[node] == len(h.Entries) {
			return true
		}
	}
	return false
}

// hold signs the list of complete contributions.
func (n *Node) hold() error {
	if err := n.enter(held); err != nil {
		return err
	}
	n.addPending() // while the other nodes' lists travel
	h := &protocol.Hold{
		Round: n.round, Attempt: n.attempt, Last: n.lastResult, Entries: make([]protocol.Entry, 0, n.count),
	}
	for i := range n.contributions {
		if c := &n.contributions[i]; c.whole {
			h.Entries = append(h.Entries, protocol.Entry{Party: uint32(i), Bundle: c.bundle})
		}
	}
	n.at.holds[n.self] = h
	return n.send(n.peerKey("hold", n.self), n.s.SubjectHold(n.self, h.Round, h.Attempt), h)
}

func (n *Node) peerKey(kind string, node uint32) string {
	return fmt.Sprintf("%s/%d/%d/%d", kind, n.round, n.attempt, node)
}

// peerHold accepts another node's list. A second, different one is equivocation: the first
// counts, so that this node's own agree never changes.
func (n *Node) peerHold(from uint32, m *protocol.Hold, data []byte) error {
	if from == n.self {
		return n.checkOwn("hold", n.peerKey("hold", n.self), m.Round, m.Attempt, data)
	}
	if err := n.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := n.s.CheckSet(m.Entries); err != nil {
		return err
	}
	if n.at.phase == settled {
		return protocol.ErrDuplicate
	}
	if m.Last != n.lastResult {
		return fmt.Errorf("%w: the list of %s follows another result", protocol.ErrMismatch, n.s.Name(from))
	}
	if n.at.holds[from] != nil {
		return n.checkPeerRepeat("hold", from, data)
	}
	n.at.holds[from] = m
	n.eff.Put(n.peerKey("hold", from), data)
	n.seen = n.now
	return nil
}

// ownPartial checks this node's own partial sum, as the bus delivers it.
func (n *Node) ownPartial(from uint32, m *protocol.Partial, data []byte) error {
	if from != n.self {
		return fmt.Errorf("%w: another node's partial sum", protocol.ErrUnknown)
	}
	return n.checkOwn("partial sum", n.revealKey(m.Round), m.Round, m.Attempt, data)
}

// checkOwn compares this node's own message, as the bus delivers it, with the store, which has
// it under key. A message that the store does not have means that the store was rolled back: the
// node may have revealed what it does not remember, so it must not continue.
func (n *Node) checkOwn(kind, key string, round, attempt uint32, data []byte) error {
	switch {
	case round < n.round || (round == n.round && (attempt < n.attempt || n.at.phase == settled)):
		return protocol.ErrDuplicate
	case round == n.round && attempt == n.attempt && bytes.Equal(n.get(key), data):
		return protocol.ErrDuplicate
	}
	n.finish(protocol.Fail(protocol.ClassIntegrity, "%w: this node signed a %s in round %d attempt %d "+
		"that its store does not have: the store was rolled back", protocol.ErrMismatch, kind, round, attempt))
	return nil
}

// checkPeerRepeat refuses another message of a node: a duplicate, or equivocation.
func (n *Node) checkPeerRepeat(kind string, from uint32, data []byte) error {
	if !bytes.Equal(n.get(n.peerKey(kind, from)), data) {
		return fmt.Errorf("%w: %s by %s", protocol.ErrEquivocate, kind, n.s.Name(from))
	}
	return protocol.ErrDuplicate
}

// intersect sets the attempt's set, the intersection of all lists.
func (n *Node) intersect() {
	n.at.set = n.intersection()
	n.at.digest = protocol.SetDigest(n.s, n.round, n.attempt, n.at.set)
}

// agree signs the intersection of all lists, and this node's sum over it.
func (n *Node) agree() error {
	n.intersect()
	a := &protocol.Agree{
		Round:   n.round,
		Attempt: n.attempt,
		Count:   uint32(len(n.at.set)),
		Set:     n.at.digest,
	}
	if n.enough() {
		if n.group != nil && !n.summed() {
			return n.ask() // the workers' sums have not arrived
		}
		if err := n.fix(a); err != nil {
			return err
		}
	}
	if err := n.enter(agreed); err != nil {
		return err
	}
	n.at.agrees[n.self] = a
	n.eff.Note(protocol.Notice{
		Code:    protocol.NoteAgreed,
		Round:   a.Round,
		Attempt: a.Attempt,
		Count:   len(n.at.set),
		Total:   n.parties,
	})
	return n.send(n.peerKey("agree", n.self), n.s.SubjectAgree(n.self, a.Round, a.Attempt), a)
}

// enough reports whether the set is large enough to be revealed.
func (n *Node) enough() bool { return len(n.at.set) >= int(n.s.Plan.MinParties) }

// fix makes this node's sum over the set and signs for it, and for the sum of the commitments.
func (n *Node) fix(a *protocol.Agree) (err error) {
	if n.at.out, err = n.makeSum(); err != nil {
		return err
	}
	a.Partial = protocol.VectorDigest(n.at.out.partial, n.at.out.opening)
	if n.s.Plan.Audit {
		a.Commitments, err = n.commitments()
	}
	return err
}

// commitments returns the sum of the set's commitments.
func (n *Node) commitments() (commit.Commitment, error) {
	all := make([]commit.Commitment, len(n.at.set))
	for i, e := range n.at.set {
		_, m, err := n.s.Receive(n.get(n.commitKey(e.Party)))
		if err != nil {
			return commit.Commitment{}, err
		}
		all[i] = m.(*protocol.Contribution).Commitment
	}
	return commit.Sum(all)
}

func (n *Node) intersection() []protocol.Entry {
	holds := make([]*protocol.Hold, n.nodes)
	for k := range holds {
		holds[k] = n.at.holds[n.node(k)]
	}
	return protocol.Intersect(holds)
}

func (n *Node) peerAgree(from uint32, m *protocol.Agree, data []byte) error {
	if from == n.self {
		return n.checkOwn("agree", n.peerKey("agree", n.self), m.Round, m.Attempt, data)
	}
	if err := n.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if n.at.phase == settled {
		return protocol.ErrDuplicate
	}
	if n.at.agrees[from] != nil {
		return n.checkPeerRepeat("agree", from, data)
	}
	n.at.agrees[from] = m
	n.eff.Put(n.peerKey("agree", from), data)
	n.seen = n.now
	return nil
}

func (n *Node) revealKey(round uint32) string { return protocol.RecordKey("reveal", round) }

func (n *Node) partialKey(round, chunk uint32) string {
	return protocol.RecordKey("partial", round, chunk)
}

// node returns the member index of the k-th compute node.
func (n *Node) node(k int) uint32 { return uint32(n.parties + k) }
