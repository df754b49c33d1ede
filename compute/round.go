package compute

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"choir/crypto/field"
	"choir/protocol"
)

// opens moves the node into an attempt that the aggregator opened. It goes
// forward only, and never back into a round in which this node has revealed.
func (n *Node) opens(m *protocol.Round, data []byte) error {
	a := &n.at
	switch {
	case m.Round > n.s.Plan.Rounds:
		return fmt.Errorf("%w: round %d of %d", protocol.ErrMismatch, m.Round, n.s.Plan.Rounds)
	case m.Round <= n.newest:
		if m.Round == a.round && m.Attempt == a.attempt {
			return errDuplicate
		}
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrRevealed, m.Round, m.Attempt)
	case m.Round == a.round && m.Attempt == a.attempt:
		if m.Model != a.model {
			return fmt.Errorf("%w: round %d attempt %d on two models", protocol.ErrEquivocate, m.Round, m.Attempt)
		}
		return errDuplicate
	case m.Round < a.round || (m.Round == a.round && m.Attempt < a.attempt):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, m.Round, m.Attempt)
	case n.now/1000 > n.s.Plan.NotAfter:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrExpired, m.Round, m.Attempt)
	}
	if err := n.giveReceipts(); err != nil { // of the attempt before
		return err
	}
	n.forget()
	if err := n.enter(collecting); err != nil {
		return err
	}
	n.begin(m, n.now)
	n.eff.Put("round", append(binary.BigEndian.AppendUint64(nil, uint64(n.now)), data...))
	n.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: m.Round, Attempt: m.Attempt})
	return nil
}

func (n *Node) begin(m *protocol.Round, openedAt int64) {
	n.at = attempt{
		round: m.Round, attempt: m.Attempt, openedAt: openedAt, model: m.Model, phase: collecting,
		parties: make([]contribution, n.n), acc: make(field.Vector, n.s.Plan.Elements()),
		holds: map[uint32]*protocol.Hold{}, covered: map[uint32]int{}, agrees: map[uint32]*protocol.Agree{},
	}
	n.current, n.seen = nil, n.now
	if n.group != nil {
		n.group = newGroup(n.s)
	}
}

// forget deletes what only the attempt needed. What was revealed stays.
func (n *Node) forget() {
	if n.at.round == 0 {
		return
	}
	memory := protocol.StepView{View: n.view, Step: n.eff}
	for _, kind := range []string{"share", "commit", "hold", "agree"} {
		for _, key := range memory.Keys(fmt.Sprintf("%s/%d/%d/", kind, n.at.round, n.at.attempt)) {
			n.eff.Delete(key)
		}
	}
}

// advance does whatever the attempt is ready for.
func (n *Node) advance() {
	if n.at.phase == collecting && n.closes() {
		n.must(n.hold())
	}
	if n.at.phase == held && len(n.at.holds) == n.m {
		n.must(n.agree())
	}
	if n.at.phase == agreed && len(n.at.agrees) == n.m {
		n.must(n.reveal())
	}
}

// must ends the node on a failure of its own, which is never a peer's doing.
func (n *Node) must(err error) {
	if err != nil && !n.ended {
		n.finish(fmt.Errorf("compute node: round %d: %w", n.at.round, err))
	}
}

// closes decides when the node stops taking in contributions: everybody came;
// or all who were there last time came and the grace is over; or the deadline
// is over; or another node has closed and nothing more could count. Never with
// fewer than N_min.
func (n *Node) closes() bool {
	a := &n.at
	if a.complete == n.n {
		return true
	}
	if a.complete < int(n.s.Plan.MinParties) {
		return false
	}
	if a.allAt == 0 && n.allExpected() {
		a.allAt = n.now
	}
	return (a.allAt > 0 && n.now >= a.allAt+int64(n.s.Plan.GraceMS)) ||
		n.now >= a.openedAt+int64(n.s.Plan.DeadlineMS) || n.closedElsewhere()
}

func (n *Node) allExpected() bool {
	return n.last != nil && n.at.expected == len(n.last)
}

// closedElsewhere: some node's hold lists nothing that this node lacks.
func (n *Node) closedElsewhere() bool {
	for node, h := range n.at.holds {
		if n.at.covered[node] += n.reach(h.Entries[n.at.covered[node]:]); n.at.covered[node] == len(h.Entries) {
			return true
		}
	}
	return false
}

// reach is how many of the entries, from the front, this node holds. What it holds it
// keeps holding, so that a list is walked once, however many messages come.
func (n *Node) reach(entries []protocol.Entry) int {
	for i, e := range entries {
		if c := n.have(e.Party); !c.whole || c.bundle != e.Bundle {
			return i
		}
	}
	return len(entries)
}

func (n *Node) covers(entries []protocol.Entry) bool { return n.reach(entries) == len(entries) }

func (n *Node) hold() error {
	if err := n.enter(held); err != nil {
		return err
	}
	n.addPending() // while the others' lists are on the way
	h := &protocol.Hold{Round: n.at.round, Attempt: n.at.attempt}
	h.Entries = make([]protocol.Entry, 0, n.at.complete)
	for i := range n.at.parties {
		if c := &n.at.parties[i]; c.whole {
			h.Entries = append(h.Entries, protocol.Entry{Party: uint32(i), Bundle: c.bundle})
		}
	}
	n.at.holds[n.self] = h
	return n.say(n.peerKey("hold", n.self), n.s.SubjectHold(n.self, h.Round, h.Attempt), h)
}

// say signs and sends, and keeps the message to say it again.
func (n *Node) say(key, subject string, m protocol.Message) error {
	if err := n.send(key, subject, m); err != nil {
		return err
	}
	n.current = append(n.current, n.eff.Send[len(n.eff.Send)-1])
	return nil
}

func (n *Node) peerKey(kind string, node uint32) string {
	return fmt.Sprintf("%s/%d/%d/%d", kind, n.at.round, n.at.attempt, node)
}

// peerHold takes in another node's list. A second, different one is
// equivocation: the first stays, so that this node's own agree never changes.
func (n *Node) peerHold(from uint32, m *protocol.Hold, data []byte) error {
	if from == n.self {
		return n.ownWord("hold", m.Round, m.Attempt, data)
	}
	if err := n.when(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := n.s.CheckSet(m.Entries); err != nil {
		return err
	}
	if n.at.phase == settled {
		return errDuplicate
	}
	if n.at.holds[from] != nil {
		return n.repeated("hold", from, data)
	}
	n.at.holds[from] = m
	n.eff.Put(n.peerKey("hold", from), data)
	n.seen = n.now
	return nil
}

// ownWord compares what the bus says that this node said with what it
// remembers. A word that it doesn't know of means that its store is an older
// copy: it may have revealed what it has forgotten, so it must not go on.
func (n *Node) ownWord(kind string, round, attempt uint32, data []byte) error {
	a := &n.at
	switch {
	case round < a.round || (round == a.round && (attempt < a.attempt || a.phase == settled)):
		return errDuplicate
	case round == a.round && attempt == a.attempt && bytes.Equal(n.get(n.peerKey(kind, n.self)), data):
		return errDuplicate
	}
	n.finish(protocol.Fail(protocol.ClassIntegrity, "%w: this node signed a %s in round %d attempt %d that its store doesn't have: the store was rolled back",
		protocol.ErrMismatch, kind, round, attempt))
	return nil
}

func (n *Node) repeated(kind string, from uint32, data []byte) error {
	if !bytes.Equal(n.get(n.peerKey(kind, from)), data) {
		return fmt.Errorf("%w: %s by %s", protocol.ErrEquivocate, kind, n.s.Name(from))
	}
	return errDuplicate
}

// agree signs the intersection of all M lists: phase two.
func (n *Node) agree() error {
	if err := n.enter(agreed); err != nil {
		return err
	}
	n.at.set = n.intersection()
	a := &protocol.Agree{Round: n.at.round, Attempt: n.at.attempt, Count: uint32(len(n.at.set)),
		Set: protocol.SetDigest(n.s, n.at.round, n.at.attempt, n.at.set)}
	n.at.agrees[n.self] = a
	n.eff.Note(protocol.Notice{Code: protocol.NoteAgreed, Round: a.Round, Attempt: a.Attempt, Count: len(n.at.set), Total: n.n})
	return n.say(n.peerKey("agree", n.self), n.s.SubjectAgree(n.self, a.Round, a.Attempt), a)
}

func (n *Node) intersection() []protocol.Entry {
	holds := make([]*protocol.Hold, n.m)
	for k := range holds {
		holds[k] = n.at.holds[n.node(k)]
	}
	return protocol.Intersect(holds)
}

func (n *Node) peerAgree(from uint32, m *protocol.Agree, data []byte) error {
	if from == n.self {
		return n.ownWord("agree", m.Round, m.Attempt, data)
	}
	if err := n.when(m.Round, m.Attempt); err != nil {
		return err
	}
	if n.at.phase == settled {
		return errDuplicate
	}
	if n.at.agrees[from] != nil {
		return n.repeated("agree", from, data)
	}
	n.at.agrees[from] = m
	n.eff.Put(n.peerKey("agree", from), data)
	n.seen = n.now
	return nil
}

// result tells the node that the aggregator is through with the attempt.
func (n *Node) result(m *protocol.Result) error {
	if err := n.when(m.Round, m.Attempt); err != nil {
		if m.Round <= n.at.round {
			return errDuplicate
		}
		return err
	}
	if n.at.phase == settled {
		return errDuplicate
	}
	if m.Outcome == protocol.OutcomeVoid {
		n.current = nil
		return nil
	}
	if n.at.phase != revealed {
		return fmt.Errorf("%w: a result for round %d, in which this node has revealed nothing", protocol.ErrMismatch, m.Round)
	}
	if want := n.at.agrees[n.self].Set; protocol.SetDigest(n.s, m.Round, m.Attempt, m.Set) != want {
		return fmt.Errorf("%w: the result of round %d is over another set than was agreed", protocol.ErrMismatch, m.Round)
	}
	return n.close(m)
}

func (n *Node) close(m *protocol.Result) error {
	if err := n.enter(settled); err != nil {
		return err
	}
	n.last = make([]uint32, len(m.Set))
	for i, e := range m.Set {
		n.last[i] = e.Party
	}
	n.eff.Put("last", appendU32s(nil, n.last))
	n.forget()
	n.current = nil
	n.eff.Put(n.revealKey(m.Round), []byte{}) // the fact stays, the vector isn't needed any more
	for i := range uint32(n.s.Chunks()) {
		n.eff.Delete(n.partialKey(m.Round, i))
	}
	n.eff.Note(protocol.Notice{Code: protocol.NoteResult, Round: m.Round, Attempt: m.Attempt, Count: len(m.Set), Total: n.n, Detail: m.Outcome.String()})
	if m.Round == n.s.Plan.Rounds {
		n.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: m.Round})
		n.end(nil)
	}
	return nil
}

func (n *Node) revealKey(round uint32) string { return protocol.RecordKey("reveal", round) }

func (n *Node) partialKey(round, chunk uint32) string {
	return protocol.RecordKey("partial", round, chunk)
}

// node is the k-th compute node's index.
func (n *Node) node(k int) uint32 { return uint32(n.n + k) }
