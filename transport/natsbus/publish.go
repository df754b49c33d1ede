package natsbus

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/internal/fragment"
)

const (
	// stallWait replaces nats.go's 200 ms, which a busy broker exceeds.
	stallWait = 30 * time.Second
	// ackTimeout is when an unanswered message is sent again. Answers lost with a connection
	// are noticed sooner, by the reconnect.
	ackTimeout = 30 * time.Second
)

// Publish implements transport.Bus. Subjects outside choir.<plan>. are transport.ErrSubject.
// A stream that isn't there yet is waited for.
func (b *Bus) Publish(parent context.Context, msgs ...transport.Message) error {
	if err := b.validate(msgs); err != nil {
		return b.wrap("publish", err)
	}
	ctx, release := b.guard(b.ctx, parent, deniedPublish(msgs))
	defer release()
	todo, err := b.letters(msgs)
	if err != nil {
		return b.wrap("publish", err)
	}
	var last error // why todo had to be repeated
	for pause := minBackoff; ; {
		if ctx.Err() != nil {
			return b.wrap("publish "+todo[0].Subject, because(reason(ctx, parent), last))
		}
		round := &round{bus: b, ctx: ctx}
		if err := round.send(todo); err != nil {
			return b.wrap("publish", err)
		}
		if todo, last = round.again, round.last; len(todo) == 0 {
			return nil
		}
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

// letter is what the broker takes in one piece, with the identifier by which it recognises
// its repetition.
type letter struct {
	transport.Message
	id    string
	piece string // the header of a piece; "" for a message that is whole
}

// pieceHeader is where a piece's fragment.Header stands.
const pieceHeader = "Choir-Piece"

func (b *Bus) letters(msgs []transport.Message) ([]letter, error) {
	letters := make([]letter, 0, len(msgs))
	for _, m := range msgs {
		id, err := b.newID()
		if err != nil {
			return nil, err
		}
		h := fragment.Header{ID: id, Count: fragment.Count(len(m.Data))}
		if h.Count == 1 {
			letters = append(letters, letter{m, hex.EncodeToString(id[:]), ""})
			continue
		}
		for ; h.Index < h.Count; h.Index++ { // a piece's header is an identifier of its own
			piece := transport.Message{Subject: m.Subject, Data: fragment.Piece(m.Data, h.Index)}
			letters = append(letters, letter{piece, h.String(), h.String()})
		}
	}
	return letters, nil
}

func (b *Bus) newID() (id fragment.ID, err error) {
	if _, err := io.ReadFull(b.config.Rand, id[:]); err != nil {
		return id, fmt.Errorf("message identifier: %w", err)
	}
	return id, nil
}

// message is the letter as NATS carries it.
func (l letter) message() *nats.Msg {
	m := &nats.Msg{Subject: l.Subject, Data: l.Data}
	if l.piece != "" {
		m.Header = nats.Header{pieceHeader: {l.piece}}
	}
	return m
}

// cost is what the letter takes from the window, in bytes.
func (l letter) cost() int { return len(l.Data) + messageCost }

// round sends letters once and collects those to be sent again.
type round struct {
	bus     *Bus
	ctx     context.Context
	flights []flight // sent, not acknowledged, oldest first
	again   []letter
	last    error
}

// flight is a letter under way.
type flight struct {
	letter
	ack   jetstream.PubAckFuture
	epoch context.Context // ends when the connection that carried it is gone
}

// send returns an error when repeating would not help. It returns with nothing in the window.
func (r *round) send(letters []letter) error {
	defer r.abandon()
	for i, l := range letters {
		ok, err := r.reserve(l.cost())
		if err != nil {
			return err
		}
		if !ok || !r.launch(l) {
			r.again = append(r.again, letters[i:]...)
			break
		}
	}
	for len(r.flights) > 0 {
		if err := r.land(); err != nil {
			return err
		}
	}
	return nil
}

// reserve takes n bytes of the window, landing own flights while there is no room. Whoever
// holds a part of the window lands its flights before it waits for others: no deadlock. It
// returns false when the context ended first.
func (r *round) reserve(n int) (bool, error) {
	for r.ctx.Err() == nil {
		ok, retry := r.bus.window.take(n)
		if ok {
			return true, nil
		}
		if len(r.flights) > 0 {
			if err := r.land(); err != nil {
				return false, err
			}
			continue
		}
		select {
		case <-retry:
		case <-r.ctx.Done():
		}
	}
	return false, nil
}

// launch sends a letter whose cost is reserved. It returns false when the connection doesn't
// take it.
func (r *round) launch(l letter) bool {
	epoch := r.bus.currentEpoch() // before sending: a reconnect in between must not be missed
	ack, err := r.bus.js.PublishMsgAsync(
		l.message(),
		jetstream.WithMsgID(l.id),
		jetstream.WithExpectStream(r.bus.config.stream()),
		jetstream.WithStallWait(stallWait),
		jetstream.WithRetryAttempts(0), // repeating is this package's work
	)
	if err != nil {
		r.bus.window.give(l.cost())
		r.last = err
		return false
	}
	r.flights = append(r.flights, flight{l, ack, epoch})
	return true
}

// land waits for the oldest flight and settles it.
func (r *round) land() error {
	f := r.flights[0]
	r.flights = r.flights[1:]
	defer r.bus.window.give(f.cost())
	var err error
	select {
	case <-f.ack.Ok():
		return nil
	case err = <-f.ack.Err():
	case <-f.epoch.Done():
		err = nats.ErrDisconnected
	case <-r.ctx.Done():
		err = nil // Publish reports why
	}
	if fatal := permanent(err); fatal != nil {
		return fmt.Errorf("%s: %w", f.Subject, fatal)
	}
	r.again = append(r.again, f.letter)
	if err != nil {
		r.last = err
	}
	return nil
}

// abandon gives back the window of the flights that nobody waits for any more.
func (r *round) abandon() {
	for _, f := range r.flights {
		r.bus.window.give(f.cost())
	}
	r.flights = nil
}

func (b *Bus) currentEpoch() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}
