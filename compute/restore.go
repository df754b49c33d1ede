package compute

import (
	"fmt"

	"choir/protocol"
)

// wake returns when the node wants a tick: at the attempt's next deadline, or when the
// retransmit interval is over.
func (n *Node) wake() int64 {
	at := min(n.backoff.Due(n.seen), n.s.Plan.Leaves(n.seen))
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

// resendIfDue retransmits the last messages when there was no progress for the retransmit
// interval: one of them may have been lost.
func (n *Node) resendIfDue() {
	if n.now < n.backoff.Due(n.seen) {
		return
	}
	n.backoff.Retransmitted(n.now)
	n.resend()
}

// resend retransmits the last messages, as they were signed the first time.
func (n *Node) resend() {
	if n.joined < n.parties { // a party may have missed it, in any round
		n.eff.Emit(n.s.SubjectKey(n.self), n.keyMsg)
	}
	if n.agg != nil && n.newest == 0 {
		n.eff.Emit(n.s.SubjectOpen(n.self, n.s.Plan.Aggregator()), n.agg)
	}
	n.eff.Send = append(n.eff.Send, n.resends...)
	if n.group != nil && (n.at.phase == held || n.at.phase == agreed) {
		n.eff.Send = append(n.eff.Send, n.group.asks...)
	}
	if n.at.phase == revealed {
		n.resendChunks()
		n.resendManifests()
	}
}

// restore rebuilds the node from its view: the channels, the attempt, everything that it
// received in it, and the messages to retransmit.
func (n *Node) restore() error {
	if err := n.restoreConfirms(); err != nil {
		return fmt.Errorf("compute node: stored state: %w", err)
	}
	if n.ended = n.view.Get("done") != nil; n.ended {
		return nil // the keys to the rest of the last attempt are deleted
	}
	for _, step := range []func() error{
		n.restoreKeys, n.restoreChannels, n.restoreAttempt, n.restorePeers, n.restoreReveal,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("compute node: stored state: %w", err)
		}
	}
	return nil
}

func (n *Node) restoreKeys() error {
	if err := n.restoreKey(); err != nil {
		return err
	}
	n.agg = n.view.Get("aggregator")
	if b := n.view.Get("last"); b != nil {
		n.last = parseU32s(b)
	}
	copy(n.settled[:], n.view.Get("settled"))
	n.result = n.view.Get("result")
	n.next = n.view.Get("next")
	return nil
}

// restoreAttempt begins the stored attempt with its contributions.
func (n *Node) restoreAttempt() error {
	openedAt, err := n.restoreRound()
	if err != nil || n.round == 0 {
		return err
	}
	n.beginAgreement(openedAt)
	if n.group != nil {
		err = n.restoreHeld()
	} else {
		err = n.restoreContributions()
	}
	n.at.receipts = nil // a party without one asks for it
	return err
}

// restorePeers restores the lists and agrees, this node's own included: it retransmits what
// it signed before the restart and signs nothing else.
func (n *Node) restorePeers() error {
	for _, kind := range []string{"hold", "agree"} {
		for _, key := range n.view.Keys(fmt.Sprintf("%s/%d/%d/", kind, n.round, n.attempt)) {
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
	if len(n.at.holds) < n.nodes {
		return fmt.Errorf("this node agreed in round %d, and of the %d lists that it agreed on %d are left",
			n.round, n.nodes, len(n.at.holds))
	}
	n.intersect()
	return nil
}

func (n *Node) restorePeer(from uint32, m protocol.Message, data []byte) {
	a := &n.at
	switch m := m.(type) {
	case *protocol.Hold:
		a.holds[from] = m
		if from == n.self {
			n.setPhase(max(a.phase, held))
			n.resends = append(n.resends,
				protocol.Outgoing{Subject: n.s.SubjectHold(from, n.round, n.attempt), Data: data})
		}
	case *protocol.Agree:
		a.agrees[from] = m
		if from == n.self {
			n.setPhase(max(a.phase, agreed))
			n.resends = append(n.resends,
				protocol.Outgoing{Subject: n.s.SubjectAgree(from, n.round, n.attempt), Data: data})
		}
	}
}

// restoreReveal restores the rounds in which this node has revealed.
func (n *Node) restoreReveal() error {
	reached := revealed
	for _, key := range n.view.Keys("reveal/") {
		r, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		n.newest = max(n.newest, r)
		if r != n.round {
			continue
		}
		head := n.view.Get(key)
		if len(head) == 0 { // written by settle
			reached = settled
			continue
		}
		n.resends = append(n.resends, n.partialHead(head))
	}
	switch {
	case n.round > 0 && n.newest >= n.round:
		n.setPhase(reached)
		n.dropSum()
	case n.view.Get(confirmKey(n.round, n.attempt)) != nil: // this node has signed that it will not reveal
		n.setPhase(void)
	}
	return nil
}
