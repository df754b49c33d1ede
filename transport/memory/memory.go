// Package memory is a transport.Bus inside one process: a Hub keeps the total order in a
// slice and every connection reads and writes it. Nothing is ever dropped, repeated or
// limited, so its memory grows with what is published until the Hub itself is let go. Order is
// the order in which Publish calls take the lock: with one publishing goroutine a run is
// deterministic.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"choir/transport"
)

// Hub is the broker: the messages of one session, shared by its connections. The zero value
// is not usable; see NewHub. All methods may be called concurrently.
type Hub struct {
	mu   sync.Mutex
	log  []transport.Message // log[i] has Seq i+1; entries are never changed
	more chan struct{}       // closed and replaced whenever log grows
}

// NewHub returns an empty Hub.
func NewHub() *Hub {
	return &Hub{more: make(chan struct{})}
}

// Connect opens a connection. The name appears in its errors and need not be unique.
func (h *Hub) Connect(name string) *Bus {
	return &Bus{name: name, hub: h, closed: make(chan struct{})}
}

// store appends copies of msgs, all together.
func (h *Hub) store(msgs []transport.Message) {
	copies := make([]transport.Message, len(msgs))
	for i, m := range msgs {
		copies[i] = transport.Message{Subject: m.Subject, Data: slices.Clone(m.Data)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range copies {
		m.Seq = uint64(len(h.log)) + 1
		h.log = append(h.log, m)
	}
	close(h.more)
	h.more = make(chan struct{})
}

// since returns the messages with Seq > seq and a channel that closes when there are more.
func (h *Hub) since(seq uint64) ([]transport.Message, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log[min(seq, uint64(len(h.log))):], h.more
}

// Bus is one connection to a Hub.
type Bus struct {
	name   string
	hub    *Hub
	once   sync.Once
	closed chan struct{}
}

var _ transport.Bus = (*Bus)(nil)

// Publish implements transport.Bus: it stores all messages or none.
func (b *Bus) Publish(ctx context.Context, msgs ...transport.Message) error {
	if err := b.check(ctx); err != nil {
		return fmt.Errorf("memory: %s: publish: %w", b.name, err)
	}
	if err := transport.ValidateMessages(msgs); err != nil {
		return fmt.Errorf("memory: %s: publish: %w", b.name, err)
	}
	b.hub.store(msgs)
	return nil
}

// Subscribe implements transport.Bus.
func (b *Bus) Subscribe(ctx context.Context, filters []string, from uint64) (transport.Subscription, error) {
	if err := b.check(ctx); err != nil {
		return nil, fmt.Errorf("memory: %s: subscribe: %w", b.name, err)
	}
	compiled, err := transport.NewFilters(filters)
	if err != nil {
		return nil, fmt.Errorf("memory: %s: subscribe: %w", b.name, err)
	}
	return &subscription{bus: b, filters: compiled, seq: max(from, 1) - 1, closed: make(chan struct{})}, nil
}

// Close implements transport.Bus. It never fails.
func (b *Bus) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func (b *Bus) check(ctx context.Context) error {
	select {
	case <-b.closed:
		return transport.ErrClosed
	default:
		return ctx.Err()
	}
}

type subscription struct {
	bus     *Bus
	filters transport.Filters
	seq     uint64 // everything up to here was delivered or filtered out
	once    sync.Once
	closed  chan struct{}
}

// Next implements transport.Subscription.
func (s *subscription) Next(ctx context.Context) (transport.Message, error) {
	for {
		if err := s.check(ctx); err != nil {
			return transport.Message{}, fmt.Errorf("memory: %s: next: %w", s.bus.name, err)
		}
		log, more := s.bus.hub.since(s.seq)
		if m, ok := s.scan(log); ok {
			return m, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
		case <-s.closed:
		case <-s.bus.closed:
		}
	}
}

// scan moves past the first message that the filters let through and returns a copy of it.
func (s *subscription) scan(log []transport.Message) (transport.Message, bool) {
	for _, m := range log {
		s.seq = m.Seq
		if s.filters.Match(m.Subject) {
			m.Data, m.Resume = slices.Clone(m.Data), m.Seq+1
			return m, true
		}
	}
	return transport.Message{}, false
}

func (s *subscription) check(ctx context.Context) error {
	select {
	case <-s.closed:
		return transport.ErrClosed
	default:
		return s.bus.check(ctx)
	}
}

// Close implements transport.Subscription. It never fails.
func (s *subscription) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
