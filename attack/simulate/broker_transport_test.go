package simulate

import (
	"bytes"
	"context"
	"hash/fnv"
	"sync"
	"testing"

	"choir/protocol"
	"choir/transport"
)

// TestAlteringBroker: of a message in four a broker delivers an altered copy first. Each is refused, and
// the session ends as an honest one does.
func TestAlteringBroker(t *testing.T) {
	for _, backend := range []string{"memory", "nats"} {
		t.Run(backend, func(t *testing.T) {
			honest, direct := cheater{comes: whole("", nil)}, connector(t, backend)
			for _, c := range []clocks{liveTimes, liveTimes.times(3)} { // a busy machine may need the second
				a := &alterer{seen: map[uint64]bool{}}
				problems, o := honest.tryLive(a.between(direct), c)
				if len(problems) > 0 {
					t.Log(problems)
					continue
				}
				if a.altered < 10 || !o.refused("", "", protocol.ErrSignature) {
					t.Errorf("%d messages were altered, a signature refused: %t", a.altered,
						o.refused("", "", protocol.ErrSignature))
				}
				return
			}
			t.Error("the session does not end as an honest one does")
		})
	}
}

// alterer is what happens to messages between the broker and its clients.
type alterer struct {
	mu      sync.Mutex
	seen    map[uint64]bool
	altered int
}

func (a *alterer) between(direct connect) connect {
	return func(s protocol.BoundPlan) func(uint32) (transport.Bus, error) {
		open := direct(s)
		return func(member uint32) (transport.Bus, error) {
			b, err := open(member)
			return alteredBus{b, a, member}, err
		}
	}
}

// alter returns a copy with another last byte, a part of its signature or of its tag; nil for a message
// that is not altered.
func (a *alterer) alter(member uint32, data []byte) []byte {
	h := fnv.New64a()
	h.Write(append([]byte{byte(member)}, data...))
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.Sum64()%4 != 0 || a.seen[h.Sum64()] {
		return nil
	}
	a.seen[h.Sum64()] = true
	a.altered++
	data = bytes.Clone(data)
	data[len(data)-1] ^= 1
	return data
}

type alteredBus struct {
	transport.Bus
	a      *alterer
	member uint32
}

func (b alteredBus) Subscribe(
	ctx context.Context, filters []string, from uint64,
) (transport.Subscription, error) {
	s, err := b.Bus.Subscribe(ctx, filters, from)
	return &alteredSubscription{Subscription: s, b: b}, err
}

type alteredSubscription struct {
	transport.Subscription
	b    alteredBus
	next *transport.Message // the original of the copy that was delivered; nil: none
}

func (s *alteredSubscription) Next(ctx context.Context) (transport.Message, error) {
	if s.next != nil {
		m := *s.next
		s.next = nil
		return m, nil
	}
	m, err := s.Subscription.Next(ctx)
	if err != nil {
		return m, err
	}
	if altered := s.b.a.alter(s.b.member, m.Data); altered != nil {
		original := m
		s.next, m.Data = &original, altered
	}
	return m, nil
}
