package collude

import (
	"bytes"
	"context"
	"sync"

	"choir/protocol"
	"choir/transport"
)

// tap records what a member publishes, and changes it and what the member hears as staged.
type tap struct {
	transport.Bus
	staging
	r      *record
	member uint32
	over   context.Context // until the session ends
	held   *sync.WaitGroup // the messages that the broker holds back
}

// Publish implements transport.Bus.
func (b *tap) Publish(ctx context.Context, msgs ...transport.Message) error {
	var kept []transport.Message
	for _, m := range msgs {
		if b.lost(m.Data) || b.delayed(m) {
			continue
		}
		all := []message{{b.member, m.Subject, bytes.Clone(m.Data)}}
		if b.says != nil {
			all = b.says(b.r, all[0])
		}
		for _, said := range all {
			kept = append(kept, transport.Message{Subject: said.Subject, Data: said.Data})
		}
		b.r.mu.Lock()
		b.r.messages = append(b.r.messages, all...)
		b.r.mu.Unlock()
		if b.late > 0 && int(b.member) >= b.r.session.Plan.Parties() {
			for _, said := range all {
				b.r.lists.note(b.r.session, said)
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return b.Bus.Publish(ctx, kept...)
}

// lost reports whether a message is of a contribution that the staging loses.
func (b *tap) lost(data []byte) bool {
	silent, victim := b.member >= 1 && int(b.member) <= b.absent, b.member == 0 && b.leaveOut > 0
	if !silent && !victim {
		return false
	}
	_, round := b.r.contributes(data)
	return round > 0 && (silent || round == b.leaveOut)
}

// delayed reports whether the broker holds a message back: it publishes it later by itself.
func (b *tap) delayed(m transport.Message) bool {
	if b.member < 1 || int(b.member) > b.late {
		return false
	}
	_, round := b.r.contributes(m.Data)
	if round == 0 {
		return false
	}
	m.Data = bytes.Clone(m.Data)
	b.held.Go(func() {
		select {
		case <-b.over.Done():
			return
		case <-b.r.lists.sent(round):
		}
		b.r.mu.Lock()
		b.r.messages = append(b.r.messages, message{b.member, m.Subject, m.Data})
		b.r.mu.Unlock()
		_ = b.Bus.Publish(b.over, m) // too late in any case
	})
	return true
}

// lists tells when all compute nodes have sent their lists of a round.
type lists struct {
	mu   sync.Mutex
	from map[[2]uint32]bool       // by round and node
	n    map[uint32]int           // of nodes, by round
	all  map[uint32]chan struct{} // by round; closed when all have
}

func newLists() *lists {
	return &lists{from: map[[2]uint32]bool{}, n: map[uint32]int{}, all: map[uint32]chan struct{}{}}
}

// sent returns a channel that is closed when all nodes have sent their lists of a round.
func (l *lists) sent(round uint32) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.channel(round)
}

func (l *lists) channel(round uint32) chan struct{} {
	if l.all[round] == nil {
		l.all[round] = make(chan struct{})
	}
	return l.all[round]
}

// note reads what a compute node published.
func (l *lists) note(s protocol.BoundPlan, m message) {
	_, msg, err := s.Receive(m.Data)
	h, ok := msg.(*protocol.Hold)
	if err != nil || !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if key := [2]uint32{h.Round, m.From}; !l.from[key] {
		l.from[key] = true
		if l.n[h.Round]++; l.n[h.Round] == s.Plan.Computes() {
			close(l.channel(h.Round))
		}
	}
}

// Subscribe implements transport.Bus.
func (b *tap) Subscribe(ctx context.Context, filters []string, from uint64) (transport.Subscription, error) {
	s, err := b.Bus.Subscribe(ctx, filters, from)
	if err != nil || b.hears == nil {
		return s, err
	}
	return &hearing{s, b}, nil
}

// hearing leaves out what a member does not hear.
type hearing struct {
	transport.Subscription
	tap *tap
}

// Next implements transport.Subscription.
func (h *hearing) Next(ctx context.Context) (transport.Message, error) {
	for {
		m, err := h.Subscription.Next(ctx)
		if err != nil || h.tap.hears(h.tap.r, h.tap.member, m.Data) {
			return m, err
		}
	}
}

// contributes returns the sender and the round of a message that is part of a contribution; the round is 0
// for others.
func (r *record) contributes(data []byte) (party, round uint32) {
	if c, err := protocol.ViewChunk(data); err == nil && c.Purpose == protocol.PurposeShare {
		return c.From, c.Round
	}
	if e, m, err := r.session.Receive(data); err == nil {
		if c, ok := m.(*protocol.Contribution); ok {
			return e.From, c.Round
		}
	}
	return 0, 0
}
