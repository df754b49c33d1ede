package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/internal/fragment"
)

const (
	// A pull asks for at most this many bytes, and a subscription buffers at most this many
	// messages. The bytes stay well below what the broker buffers for a client (64 MiB).
	pullBytes    = 8 << 20
	pullMessages = 512

	pullExpiry    = 20 * time.Second
	pullHeartbeat = 2 * time.Second
	// A busy broker misses heartbeats: after this many in a row the consumer is replaced.
	maxMissed = 2
	// idleConsumer is the time after which the broker deletes a consumer that is not pulled
	// from. The subscription then makes another.
	idleConsumer = 5 * time.Minute
)

// position identifies a stored message by more than its sequence number. It detects a broker
// that lost the end of its storage and gave the numbers to new messages.
type position struct {
	seq     uint64
	subject string
	stored  time.Time
}

// subscription reads through an ephemeral consumer without acknowledgements. After any failure
// it replaces the consumer by one that starts at the last message received.
type subscription struct {
	bus     *Bus
	filters transport.Filters // what the caller wants
	broker  []string          // filters of the consumer, which match at least that
	ctx     context.Context   // ends with Close, with the Bus, or with the first fatal error
	fail    context.CancelCauseFunc

	// These belong to Next.
	next     uint64    // where to start if nothing was received yet
	created  time.Time // of the stream; zero until first attached
	last     position  // of the last message received; seq is 0 before
	replayed bool      // the consumer's first message must be last
	consumed uint64    // messages received from this consumer
	missed   int       // heartbeats in a row
	pieces   fragment.Assembler
	behind   uint64 // stored when the consumer was made, and not received yet
	current  chan struct{}
	caughtUp sync.Once // closes current

	mu   sync.Mutex
	iter jetstream.MessagesContext // nil: attach first
}

// Subscribe implements transport.Bus. It returns transport.ErrSubject for filters that match
// nothing under choir.<plan>. It waits for a stream that does not exist yet.
func (b *Bus) Subscribe(
	parent context.Context, filters []string, from uint64,
) (transport.Subscription, error) {
	compiled, err := transport.NewFilters(filters)
	if err != nil {
		return nil, b.wrap("subscribe", err)
	}
	broker, err := brokerFilters(filters, b.config.prefix())
	if err != nil {
		return nil, b.wrap("subscribe", err)
	}
	s := &subscription{bus: b, filters: compiled, broker: broker, next: max(from, 1),
		current: make(chan struct{})}
	s.ctx, s.fail = context.WithCancelCause(b.ctx)
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	ctx, release := b.guard(s.ctx, parent, b.deniedRead)
	defer release()
	if _, err := s.attached(ctx); err != nil {
		_ = s.Close()
		return nil, b.wrap("subscribe", withLast(reason(ctx, parent), err))
	}
	return s, nil
}

// Next implements transport.Subscription.
func (s *subscription) Next(parent context.Context) (transport.Message, error) {
	ctx, release := s.bus.guard(s.ctx, parent, s.bus.deniedRead)
	defer release()
	for ctx.Err() == nil {
		iter, err := s.attached(ctx)
		if err != nil {
			return transport.Message{}, s.end(ctx, parent, err)
		}
		if s.behind == 0 {
			s.caughtUp.Do(func() { close(s.current) })
		}
		m, err := iter.Next(jetstream.NextContext(ctx))
		if err != nil {
			s.iteratorFailed(ctx, err)
			continue
		}
		message, ok, err := s.receive(m)
		if err != nil {
			return transport.Message{}, s.end(ctx, parent, err)
		}
		if ok {
			return message, nil
		}
	}
	return transport.Message{}, s.end(ctx, parent, nil)
}

// end returns the error of Next, and ends the subscription unless the caller's context has ended.
func (s *subscription) end(ctx, parent context.Context, err error) error {
	if why := reason(ctx, parent); why != nil {
		err = why
	}
	if parent.Err() == nil || !errors.Is(err, parent.Err()) {
		s.fail(err)
	}
	return s.bus.wrap("next", err)
}

// iteratorFailed handles an iterator's error: none is fatal, and most replace the consumer.
func (s *subscription) iteratorFailed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, jetstream.ErrNoHeartbeat) {
		if s.missed++; s.missed < maxMissed {
			return
		}
	}
	s.detach()
}

// receive checks that m is the next message, and reports whether it completes one for the caller.
func (s *subscription) receive(m jetstream.Msg) (transport.Message, bool, error) {
	meta, err := m.Metadata()
	if err != nil || meta.Sequence.Consumer != s.consumed+1 {
		s.detach() // a message in between was lost: read it again
		return transport.Message{}, false, nil
	}
	s.consumed++
	s.missed = 0
	s.behind -= min(s.behind, 1)
	got := position{meta.Sequence.Stream, m.Subject(), meta.Timestamp}
	if s.replayed {
		s.replayed = false
		if got.seq != s.last.seq || got.subject != s.last.subject || !got.stored.Equal(s.last.stored) {
			return transport.Message{}, false,
				fmt.Errorf("%w: message %d has changed", transport.ErrLost, s.last.seq)
		}
		return transport.Message{}, false, nil
	}
	s.last = got
	message, ok := s.assemble(m, got)
	return message, ok, nil
}

// assemble returns the message that m is or completes, if the caller's filters match it.
func (s *subscription) assemble(m jetstream.Msg, at position) (transport.Message, bool) {
	if !s.filters.Match(at.subject) {
		return transport.Message{}, false
	}
	data := m.Data()
	if text := m.Headers().Get(pieceHeader); text != "" {
		h, err := fragment.ParseHeader(text)
		if err != nil {
			return transport.Message{}, false // no Bus sends that
		}
		var whole bool
		if data, whole = s.pieces.Add(at.subject, h, at.seq, data); !whole {
			return transport.Message{}, false
		}
	}
	return transport.Message{
		Subject: at.subject,
		Data:    data,
		Seq:     at.seq,
		Resume:  s.pieces.Resume(at.seq),
		Stored:  at.stored,
	}, true
}

// attached returns the iterator, and makes one if there is none, until the context ends. Its error
// is fatal, or that of the last attempt before the context ended.
func (s *subscription) attached(ctx context.Context) (jetstream.MessagesContext, error) {
	s.mu.Lock()
	iter := s.iter
	s.mu.Unlock()
	pause := minBackoff
	for tries := 0; iter == nil; tries++ {
		var err error
		if iter, err = s.attach(ctx, tries); err == nil {
			s.bus.noteRoom(reading, false, nil)
			break
		}
		s.bus.noteRoom(reading, true, err)
		fatal := s.bus.permanent(err)
		if errors.Is(err, transport.ErrLost) {
			fatal = err
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if fatal != nil {
			return nil, fatal
		}
		s.bus.heal(ctx, reading, err, tries)
		if !sleep(ctx, &pause) {
			return nil, err
		}
	}
	return iter, nil
}

// attach makes a consumer that starts with the last message received, and an iterator over it.
func (s *subscription) attach(parent context.Context, tries int) (jetstream.MessagesContext, error) {
	ctx, release := s.bus.request(parent, tries)
	defer release()
	stream, err := s.bus.js.Stream(ctx, s.bus.config.stream())
	if err != nil {
		return nil, err
	}
	start, err := s.start(stream.CachedInfo())
	if err != nil {
		return nil, err
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       start,
		FilterSubjects:    s.broker,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: idleConsumer,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return nil, err
	}
	s.behind = consumer.CachedInfo().NumPending
	iter, err := consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes),
		jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return nil, err
	}
	return iter, s.setIterator(iter)
}

// start checks that the stream is the one that was read before, and returns where to resume.
func (s *subscription) start(info *jetstream.StreamInfo) (uint64, error) {
	if s.created.IsZero() {
		s.created = info.Created
	}
	s.consumed = 0
	s.missed = 0
	s.replayed = false
	switch {
	case !info.Created.Equal(s.created):
		return 0, fmt.Errorf("%w: the stream was replaced", transport.ErrLost)
	case info.State.LastSeq < s.last.seq:
		return 0, fmt.Errorf("%w: it ends at %d, before %d", transport.ErrLost, info.State.LastSeq, s.last.seq)
	case s.last.seq == 0:
		return s.next, nil
	case info.State.FirstSeq > s.last.seq:
		return s.last.seq + 1, nil // MaxAge removed the last message: there is nothing to compare with
	}
	s.replayed = true
	return s.last.seq, nil
}

// setIterator makes iter the subscription's, unless the subscription has ended.
func (s *subscription) setIterator(iter jetstream.MessagesContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		iter.Stop()
		return context.Cause(s.ctx)
	}
	s.iter = iter
	return nil
}

// detach stops the iterator; Next makes another.
func (s *subscription) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.iter != nil {
		s.iter.Stop()
		s.iter = nil
	}
}

// CaughtUp implements transport.Subscription.
func (s *subscription) CaughtUp() <-chan struct{} { return s.current }

// Close implements transport.Subscription. It never fails.
func (s *subscription) Close() error {
	s.fail(transport.ErrClosed)
	s.detach()
	s.bus.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.mu.Unlock()
	return nil
}
