package compute

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"choir/crypto/channel"
	"choir/protocol"
)

// get reads what this node persisted, the step under way included.
func (n *Node) get(key string) []byte { return protocol.StepView{View: n.view, Step: n.eff}.Get(key) }

// wake is when the node wants a tick: the attempt's next deadline, or the time
// to say the last thing again.
func (n *Node) wake() int64 {
	at := n.pause.Due(n.seen)
	if a := &n.at; a.phase == collecting {
		if d := a.openedAt + int64(n.s.Plan.DeadlineMS); d > n.now {
			at = min(at, d)
		}
		if a.allAt > 0 {
			at = min(at, max(a.allAt+int64(n.s.Plan.GraceMS), n.now+1))
		}
	}
	return max(at, n.now+1)
}

// resend says the last thing again when nothing has moved for a while: a
// message may have been lost, and what was signed once is signed the same way
// again.
func (n *Node) resend() {
	if n.now < n.pause.Due(n.seen) {
		return
	}
	n.pause.Retransmitted(n.now)
	n.repeat()
}

func (n *Node) repeat() {
	if n.joined < n.n { // somebody may have missed it, in any round
		n.eff.Emit(n.s.SubjectKey(n.self), n.keyMsg)
	}
	if n.agg != nil && n.newest == 0 {
		n.eff.Emit(n.s.SubjectOpen(n.self, n.s.Plan.Aggregator()), n.agg.Open)
	}
	n.eff.Send = append(n.eff.Send, n.current...)
	if n.group != nil && n.at.phase == agreed {
		n.eff.Send = append(n.eff.Send, n.group.asks...)
	}
	if n.at.phase == revealed {
		n.sayChunks()
		n.sayAccounts()
	}
}

// sayAccounts hands on the contributions of the revealed set: the aggregator
// needs them all on record, and their parties may be gone.
func (n *Node) sayAccounts() {
	for _, e := range n.at.set {
		if data := n.get(n.commitKey(e.Party)); data != nil {
			n.eff.Emit(n.s.SubjectPartial(n.self, n.at.round, n.at.attempt, "account-"+strconv.Itoa(int(e.Party))), data)
		}
	}
}

// restore rebuilds the node from its view: the channels, the attempt it was
// in, everything it took in, and what it had said.
func (n *Node) restore() error {
	if n.ended = n.view.Get("done") != nil; n.ended {
		return nil // the keys to what is left of the last attempt are gone
	}
	for _, step := range []func() error{n.restoreKeys, n.restoreRound, n.restoreShares, n.restorePeers, n.restoreReveal} {
		if err := step(); err != nil {
			return fmt.Errorf("compute node: stored state: %w", err)
		}
	}
	return nil
}

func (n *Node) restoreKeys() error {
	if b := n.view.Get("plan-key"); b != nil {
		key, err := channel.NewPrivateKey(n.s.Plan.Suite, b)
		if err != nil {
			return err
		}
		if err := n.useKey(key); err != nil {
			return err
		}
	}
	for _, key := range n.view.Keys("channel/") {
		i, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		link, err := protocol.UnmarshalLink(n.view.Get(key))
		if err != nil {
			return err
		}
		if i >= uint32(n.n) {
			return fmt.Errorf("%s: %d parties", key, n.n)
		}
		n.keepChannel(i, link.Secret)
	}
	if b := n.view.Get("aggregator"); b != nil {
		p, err := protocol.UnmarshalLink(b)
		if err != nil {
			return err
		}
		n.agg = p
	}
	if b := n.view.Get("last"); b != nil {
		n.last = parseU32s(b)
	}
	return nil
}

func (n *Node) restoreRound() error {
	b := n.view.Get("round")
	if b == nil {
		return nil
	}
	if len(b) < 8 {
		return fmt.Errorf("round record has %d bytes", len(b))
	}
	_, m, err := n.s.Receive(b[8:])
	if err != nil {
		return err
	}
	r, ok := m.(*protocol.Round)
	if !ok {
		return fmt.Errorf("round record holds a %T", m)
	}
	n.begin(r, int64(binary.BigEndian.Uint64(b)))
	return nil
}

// restoreShares takes in again, in memory, what was taken in before the crash.
// Effects are thrown away: they were carried out, or will be asked for again.
func (n *Node) restoreShares() error {
	if n.at.round == 0 {
		return nil
	}
	n.eff = &protocol.Effects{}
	defer func() { n.eff = nil }()
	for _, key := range n.view.Keys(fmt.Sprintf("share/%d/%d/", n.at.round, n.at.attempt)) {
		c, err := protocol.ViewChunk(n.view.Get(key))
		if err != nil {
			return err
		}
		if err := n.addChunk(c, nil, false); err != nil {
			return err
		}
	}
	for _, key := range n.view.Keys(fmt.Sprintf("commit/%d/%d/", n.at.round, n.at.attempt)) {
		e, m, err := n.s.Receive(n.view.Get(key))
		if err != nil {
			return err
		}
		head, ok := m.(*protocol.Contribution)
		if !ok {
			return fmt.Errorf("%s holds a %T", key, m)
		}
		if n.group != nil {
			if err := n.readopt(e.From, head); err != nil {
				return err
			}
			continue
		}
		if err := n.contribution(e.From, head, n.view.Get(key)); err != nil {
			n.at.parties[e.From].refused = true // it contradicted its chunks before, too
		}
	}
	n.at.receipts = nil // whoever lacks one asks for it
	return nil
}

// restorePeers puts back the holds and agrees, this node's own included: what
// it said before the crash it says again and nothing else.
func (n *Node) restorePeers() error {
	for _, kind := range []string{"hold", "agree"} {
		for _, key := range n.view.Keys(fmt.Sprintf("%s/%d/%d/", kind, n.at.round, n.at.attempt)) {
			e, m, err := n.s.Receive(n.view.Get(key))
			if err != nil {
				return err
			}
			n.restorePeer(e.From, m, n.view.Get(key))
		}
	}
	if n.at.phase < agreed {
		return nil
	}
	if len(n.at.holds) < n.m {
		return fmt.Errorf("this node agreed in round %d, and of the %d lists that it agreed on %d are left", n.at.round, n.m, len(n.at.holds))
	}
	n.at.set = n.intersection()
	return nil
}

func (n *Node) restorePeer(from uint32, m protocol.Message, data []byte) {
	a := &n.at
	switch m := m.(type) {
	case *protocol.Hold:
		a.holds[from] = m
		if from == n.self {
			a.phase = max(a.phase, held)
			n.current = append(n.current, protocol.Outgoing{Subject: n.s.SubjectHold(from, a.round, a.attempt), Data: data})
		}
	case *protocol.Agree:
		a.agrees[from] = m
		if from == n.self {
			a.phase = max(a.phase, agreed)
			n.current = append(n.current, protocol.Outgoing{Subject: n.s.SubjectAgree(from, a.round, a.attempt), Data: data})
		}
	}
}

func (n *Node) restoreReveal() error {
	now := revealed
	for _, key := range n.view.Keys("reveal/") {
		r, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		n.newest = max(n.newest, r)
		if r != n.at.round {
			continue
		}
		if len(n.view.Get(key)) == 0 { // close's
			now = settled
			continue
		}
		n.current = append(n.current, n.headOf(n.view.Get(key)))
	}
	if n.at.round > 0 && n.newest >= n.at.round {
		n.at.phase, n.at.acc, n.at.pending = now, nil, nil
	}
	return nil
}
