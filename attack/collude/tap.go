package collude

import (
	"bytes"
	"context"
	"sync"
	"time"

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
		for !b.r.listed(round) {
			select {
			case <-b.over.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		b.r.mu.Lock()
		b.r.messages = append(b.r.messages, message{b.member, m.Subject, m.Data})
		b.r.mu.Unlock()
		_ = b.Bus.Publish(b.over, m) // too late in any case
	})
	return true
}

// listed reports whether all nodes have sent their lists of a round.
func (r *record) listed(round uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := map[uint32]bool{}
	for _, m := range r.messages {
		if _, msg, err := r.session.Receive(m.Data); err == nil {
			if h, ok := msg.(*protocol.Hold); ok && h.Round == round {
				from[m.From] = true
			}
		}
	}
	return len(from) == r.session.Plan.Computes()
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
