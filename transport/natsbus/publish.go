package natsbus

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/internal/fragment"
)

// stallWait replaces nats.go's 200 ms, which a busy broker exceeds.
const stallWait = 30 * time.Second

// errNoAck is the error of a message that is retransmitted because no acknowledgement has arrived.
// After a reconnect it is retransmitted at once.
var errNoAck = errors.New("the broker acknowledges nothing")

// Publish implements transport.Bus. It returns transport.ErrSubject for subjects outside
// choir.<plan>. It waits for a stream that does not exist yet.
func (b *Bus) Publish(parent context.Context, msgs ...transport.Message) error {
	if err := b.validate(msgs); err != nil {
		return b.wrap("publish", err)
	}
	ctx, release := b.guard(b.ctx, parent, deniedPublish(msgs))
	defer release()
	todo, err := b.split(msgs)
	if err != nil {
		return b.wrap("publish", err)
	}
	var last error // why todo is retransmitted
	pause := minBackoff
	for tries := 0; ; tries++ {
		if ctx.Err() != nil {
			return b.wrap("publish "+todo[0].Subject, withLast(reason(ctx, parent), last))
		}
		p := &pass{bus: b, ctx: ctx, patience: b.patience(tries)}
		if err := p.send(todo); err != nil {
			return b.wrap("publish", err)
		}
		todo, last = p.again, p.last
		b.noteRoom(publishing, len(todo) > 0, last)
		if len(todo) == 0 {
			return nil
		}
		b.heal(ctx, publishing, last, tries)
		sleep(ctx, &pause)
	}
}

func (b *Bus) validate(msgs []transport.Message) error {
	if err := transport.ValidateMessages(msgs); err != nil {
		return err
	}
	for _, m := range msgs {
		if !strings.HasPrefix(m.Subject, b.config.prefix()) {
			return fmt.Errorf("%w: %s is outside %s", transport.ErrSubject, m.Subject, b.config.prefix())
		}
	}
	return nil
}

// part is a message of the stream: a whole message, or a piece of one.
type part struct {
	transport.Message
	id    string // by which the broker recognizes a duplicate
	piece string // the header of a piece; "" for a whole message
}

// pieceHeader is the name of the NATS header with a piece's fragment.Header.
const pieceHeader = "Choir-Piece"

// split returns the parts of the messages, in order.
func (b *Bus) split(msgs []transport.Message) ([]part, error) {
	parts := make([]part, 0, len(msgs))
	for _, m := range msgs {
		id, err := b.newID()
		if err != nil {
			return nil, err
		}
		h := fragment.Header{ID: id, Count: fragment.Count(len(m.Data))}
		if h.Count == 1 {
			parts = append(parts, part{m, hex.EncodeToString(id[:]), ""})
			continue
		}
		for ; h.Index < h.Count; h.Index++ { // a piece's header is its identifier
			piece := transport.Message{Subject: m.Subject, Data: fragment.Piece(m.Data, h.Index)}
			parts = append(parts, part{piece, h.String(), h.String()})
		}
	}
	return parts, nil
}

func (b *Bus) newID() (id fragment.ID, err error) {
	if _, err := io.ReadFull(b.config.Rand, id[:]); err != nil {
		return id, fmt.Errorf("message identifier: %w", err)
	}
	return id, nil
}

// message returns the part as a NATS message.
func (p part) message() *nats.Msg {
	m := &nats.Msg{Subject: p.Subject, Data: p.Data}
	if p.piece != "" {
		m.Header = nats.Header{pieceHeader: {p.piece}}
	}
	return m
}

// cost is the part's share of the window, in bytes.
func (p part) cost() int { return len(p.Data) + messageCost }

// pass sends parts once and collects those to be retransmitted.
type pass struct {
	bus      *Bus
	ctx      context.Context
	patience time.Duration // without any acknowledgement
	pending  []pending     // oldest first
	again    []part
	last     error
}

// pending is a part that was sent and is not acknowledged yet.
type pending struct {
	part
	ack   jetstream.PubAckFuture
	sent  time.Time
	epoch context.Context // ends when the connection that carried it is gone
}

// send returns an error if a retry would not help. It returns with nothing in the window.
func (p *pass) send(parts []part) error {
	defer p.abandon()
	for i, m := range parts {
		ok, err := p.reserve(m.cost())
		if err != nil {
			return err
		}
		if !ok || !p.publish(m) {
			p.again = append(p.again, parts[i:]...)
			break
		}
	}
	for len(p.pending) > 0 {
		if err := p.await(); err != nil {
			return err
		}
	}
	return nil
}

// reserve acquires n bytes of the window, and awaits its own pending parts while there is no
// space. A pass with a part of the window awaits them before it waits for another pass, so there
// is no deadlock. It returns false if the context ends first.
func (p *pass) reserve(n int) (bool, error) {
	for p.ctx.Err() == nil {
		ok, retry := p.bus.window.acquire(n)
		if ok {
			return true, nil
		}
		if len(p.pending) > 0 {
			if err := p.await(); err != nil {
				return false, err
			}
			continue
		}
		select {
		case <-retry:
		case <-p.ctx.Done():
		}
	}
	return false, nil
}

// publish sends a part whose cost is reserved. It returns false if the connection refuses it.
func (p *pass) publish(m part) bool {
	epoch := p.bus.currentEpoch() // read before sending: a reconnect in between must not be missed
	ack, err := p.bus.js.PublishMsgAsync(
		m.message(),
		jetstream.WithMsgID(m.id),
		jetstream.WithExpectStream(p.bus.config.stream()),
		jetstream.WithStallWait(stallWait),
		jetstream.WithRetryAttempts(0), // Publish retries
	)
	if err != nil {
		p.bus.window.release(m.cost())
		p.last = err
		return false
	}
	p.pending = append(p.pending, pending{m, ack, time.Now(), epoch})
	return true
}

// await waits for the acknowledgement of the oldest pending part.
func (p *pass) await() error {
	f := p.pending[0]
	p.pending = p.pending[1:]
	defer p.bus.window.release(f.cost())
	ok, err := p.acknowledged(f)
	if ok {
		return nil
	}
	if fatal := p.bus.permanent(err); fatal != nil {
		return fmt.Errorf("%s: %w", f.Subject, fatal)
	}
	p.again = append(p.again, f.part)
	if err != nil {
		p.last = err
	}
	return nil
}

// acknowledged waits for the acknowledgement of a part, as long as there are others. Its error is
// nil if the context ends: Publish returns the reason.
func (p *pass) acknowledged(f pending) (bool, error) {
	for {
		quiet := time.NewTimer(p.patience - time.Since(p.bus.lastAck(f.sent)))
		defer quiet.Stop()
		select {
		case <-f.ack.Ok():
			p.bus.noteAck()
			return true, nil
		case err := <-f.ack.Err():
			return false, err
		case <-f.epoch.Done():
			return false, nats.ErrDisconnected
		case <-p.ctx.Done():
			return false, nil
		case <-quiet.C:
			if time.Since(p.bus.lastAck(f.sent)) >= p.patience {
				return false, errNoAck
			}
		}
	}
}

// lastAck returns when an acknowledgement last arrived, or sent if that is later.
func (b *Bus) lastAck(sent time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acked.After(sent) {
		return b.acked
	}
	return sent
}

func (b *Bus) noteAck() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acked = time.Now()
}

// abandon releases the window of the pending parts.
func (p *pass) abandon() {
	for _, f := range p.pending {
		p.bus.window.release(f.cost())
	}
	p.pending = nil
}

func (b *Bus) currentEpoch() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}
