// Package memory is a transport.Bus inside one process: a Hub keeps the total order in a slice,
// and every connection reads and writes it. Nothing is dropped, duplicated or limited, so the
// Hub's memory grows with every message published. The order is that in which Publish calls
// acquire the lock: with one publishing goroutine a run is deterministic.
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
	mu    sync.Mutex
	log   []transport.Message // log[i] has Seq i+1; entries are never changed
	index transport.Index[*subscription]
}

// NewHub returns an empty Hub.
func NewHub() *Hub { return new(Hub) }

// Connect opens a connection. The name appears in its errors and need not be unique.
func (h *Hub) Connect(name string) *Bus {
	return &Bus{name: name, hub: h, closed: make(chan struct{}), subs: map[*subscription]struct{}{}}
}

// store appends copies of msgs, all together, and offers them to the matching subscriptions.
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
		h.index.Match(m.Subject, func(s *subscription) { s.offer(m.Seq) })
	}
}

// join adds a subscription that starts at a position.
func (h *Hub) join(s *subscription, from uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.from = max(from, 1)
	for i := s.from; i <= uint64(len(h.log)); i++ {
		if s.compiled.Match(h.log[i-1].Subject) {
			s.offer(i)
		}
	}
	s.behind = len(s.queue)
	h.index.Add(s, s.filters)
	s.bus.subs[s] = struct{}{}
}

// leave removes one subscription of a connection, or all of them if only is nil.
func (h *Hub) leave(b *Bus, only *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range b.subs {
		if only == nil || s == only {
			h.index.Remove(s, s.filters)
			s.queue = nil
			delete(b.subs, s)
		}
	}
}

// Bus is one connection to a Hub.
type Bus struct {
	name   string
	hub    *Hub
	once   sync.Once
	closed chan struct{}
	subs   map[*subscription]struct{} // the hub's lock guards it
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
	s := &subscription{
		current:  make(chan struct{}),
		bus:      b,
		filters:  slices.Clone(filters),
		compiled: compiled,
		more:     make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
	b.hub.join(s, from)
	return s, nil
}

// Close implements transport.Bus. It never fails.
func (b *Bus) Close() error {
	b.once.Do(func() {
		close(b.closed)
		b.hub.leave(b, nil)
	})
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
	bus      *Bus
	filters  []string
	compiled transport.Filters
	more     chan struct{} // has a token when a message was queued since Next last checked
	once     sync.Once
	closed   chan struct{}
	current  chan struct{} // closed when Next has returned everything from before the subscription

	// The hub's lock guards these.
	from   uint64   // the first position that may be queued
	behind int      // messages stored before the subscription that Next has not returned; -1: current is closed
	queue  []uint64 // positions to deliver, in order
}

// offer queues a message once, also if several filters match it. The hub's lock is held.
func (s *subscription) offer(seq uint64) {
	if seq < s.from {
		return
	}
	s.from = seq + 1
	s.queue = append(s.queue, seq)
	select {
	case s.more <- struct{}{}:
	default: // Next will check anyway
	}
}

// Next implements transport.Subscription.
func (s *subscription) Next(ctx context.Context) (transport.Message, error) {
	for {
		if err := s.check(ctx); err != nil {
			return transport.Message{}, fmt.Errorf("memory: %s: next: %w", s.bus.name, err)
		}
		if m, ok := s.dequeue(); ok {
			m.Data = slices.Clone(m.Data)
			m.Resume = m.Seq + 1
			return m, nil
		}
		select {
		case <-s.more:
		case <-ctx.Done():
		case <-s.closed:
		case <-s.bus.closed:
		}
	}
}

// dequeue returns the message to deliver next, if there is one.
func (s *subscription) dequeue() (transport.Message, bool) {
	s.bus.hub.mu.Lock()
	defer s.bus.hub.mu.Unlock()
	if s.behind == 0 {
		close(s.current)
	}
	s.behind = max(s.behind-1, -1)
	if len(s.queue) == 0 {
		return transport.Message{}, false
	}
	seq := s.queue[0]
	s.queue = s.queue[1:]
	return s.bus.hub.log[seq-1], true
}

// CaughtUp implements transport.Subscription.
func (s *subscription) CaughtUp() <-chan struct{} { return s.current }

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
	s.once.Do(func() {
		close(s.closed)
		s.bus.hub.leave(s.bus, s)
	})
	return nil
}
