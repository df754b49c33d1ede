package bench

import (
	"context"
	"sync"

	"choir/transport"
)

// traffic records who published how much under which subject, in which calls.
type traffic struct {
	mu        sync.Mutex
	opened    bool
	setup     [][]call // by member
	round     [][]call
	onOpening func()
}

// call is one Publish.
type call []piece

type piece struct {
	subject string
	bytes   int
}

func newTraffic(members int) *traffic {
	return &traffic{setup: make([][]call, members), round: make([][]call, members), onOpening: func() {}}
}

func (t *traffic) record(member int, msgs []transport.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(call, len(msgs))
	for i, m := range msgs {
		c[i] = piece{m.Subject, len(m.Data)}
		if !t.opened && topic(m.Subject) == "ctl" {
			t.opened = true
			t.onOpening()
		}
	}
	if t.opened {
		t.round[member] = append(t.round[member], c)
	} else {
		t.setup[member] = append(t.setup[member], c)
	}
}

// uploads is the most that a party published before the first round, and in one.
func (t *traffic) uploads(parties, rounds int) (setup, round int64) {
	for i := range parties {
		setup, round = max(setup, bytesOf(t.setup[i])), max(round, bytesOf(t.round[i])/int64(rounds))
	}
	return setup, round
}

func bytesOf(calls []call) (n int64) {
	for _, c := range calls {
		for _, p := range c {
			n += int64(p.bytes)
		}
	}
	return n
}

// recordedBus is a member's connection whose publications are recorded.
type recordedBus struct {
	transport.Bus
	member int
	log    *traffic
}

// Publish implements transport.Bus.
func (b *recordedBus) Publish(ctx context.Context, msgs ...transport.Message) error {
	b.log.record(b.member, msgs)
	return b.Bus.Publish(ctx, msgs...)
}
