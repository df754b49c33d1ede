// Package transport carries opaque messages between the members of a session. It knows neither
// roles nor keys: messages are sealed and signed by its users, and the broker of a Bus may drop,
// duplicate, delay, reorder or forge them. The contract is therefore about liveness and order,
// never about trust:
//
//   - A Bus has one total order. Every stored message has a position in it, Seq, counted
//     from 1, and every subscription delivers its messages in that order, without gaps
//     and without duplicates.
//   - A message may be larger than what a broker accepts at once, and is then stored in
//     pieces. A subscription resumes from Message.Resume, so that no piece is skipped.
//   - A stored message stays: a subscription that starts at 0 replays the whole history before
//     it delivers new messages, so that a process can restart at any moment. A backend may
//     have limits (size, age); it then refuses new messages rather than drop stored ones
//     silently, or documents the limit.
//   - Publish may store a message twice when it retransmits (the acknowledgement was lost).
//     Receivers are idempotent.
//   - An acknowledgement is not a receipt: a broker may lose what it acknowledged. A sender
//     keeps its messages until it has the receiver's signed receipt.
//
// Backends: transport/memory (in one process) and transport/natsbus (NATS JetStream). Both
// pass the suite in transport/transporttest.
package transport

import (
	"context"
	"errors"
	"time"
)

// MaxPayload is the largest Data, in bytes, that a Bus carries in one message. Every backend
// accepts exactly this much, in pieces of the size that its broker accepts.
const MaxPayload = 64 << 20

// Errors that callers distinguish. They are wrapped: use errors.Is.
var (
	// ErrClosed means that the Bus or the Subscription was closed by this process.
	ErrClosed = errors.New("transport: closed")
	// ErrSubject means that a subject or filter is malformed or outside the range of this Bus.
	ErrSubject = errors.New("transport: invalid subject")
	// ErrPayload means that Data is longer than MaxPayload.
	ErrPayload = errors.New("transport: payload too large")
	// ErrAuth means that the broker refused the credentials, or a permission that the operation
	// needs. A retry does not help.
	ErrAuth = errors.New("transport: not authorised")
	// ErrFull means that the broker is at a limit: of storage, of streams, of subscriptions that read, or of
	// connections. Stored messages stay.
	ErrFull = errors.New("transport: the broker is at its limit")
	// ErrLost means that the broker no longer has the history that a subscription was reading:
	// its storage was replaced or rolled back. To avoid a gap, the subscriber must start again
	// from 0.
	ErrLost = errors.New("transport: history lost by the broker")
)

// Message is one unit of the total order.
type Message struct {
	// Subject is the address; see ValidateSubject.
	Subject string
	// Data is opaque, 0 to MaxPayload bytes. A sender may reuse it once Publish has
	// returned; a receiver owns what it was delivered.
	Data []byte
	// Seq is the position in the bus's total order, from 1. It is set on delivery and
	// ignored by Publish. Between two messages that one subscription delivers it strictly
	// increases; it skips what the filters skip. The position of a message that is stored in
	// pieces is that of the piece that completes it.
	Seq uint64
	// Resume is the position from which a subscription with the same filters misses nothing
	// that comes after this message: Seq+1, or less while another message is stored in part.
	// A subscription from there may deliver messages that were delivered before. Resume is set
	// on delivery, ignored by Publish, and never decreases within a subscription.
	Resume uint64
	// Stored is when the broker stored it, by the broker's clock; zero if the bus keeps no times. It is
	// set on delivery and ignored by Publish.
	Stored time.Time
}

// Bus is one member's connection. All methods may be called concurrently.
type Bus interface {
	// Publish stores all messages and returns when the broker has acknowledged every one.
	// Unless a message had to be retransmitted, they are stored in the order given. For a
	// malformed subject (ErrSubject) or an oversized payload (ErrPayload) the whole call is
	// refused before anything is stored. After any other error some messages may be stored;
	// the error names a subject that was not acknowledged. Lost connections and a broker that
	// is down are not errors: Publish retries until ctx ends.
	Publish(ctx context.Context, msgs ...Message) error

	// Subscribe delivers every message, stored in the past or in the future, that matches
	// at least one filter (see ValidateFilter; filters may overlap) and whose first piece is
	// stored at from or later, in order of Seq. There must be at least one filter. ctx bounds
	// the call, not the Subscription.
	//
	// A position is only meaningful as long as the broker keeps its storage: after a restart of
	// the broker, start from 0.
	Subscribe(ctx context.Context, filters []string, from uint64) (Subscription, error)

	// Close ends the connection and its subscriptions, whose pending and later calls return
	// ErrClosed. Closing twice is harmless. Stored messages stay.
	Close() error
}

// Subscription is a cursor over a Bus's total order.
type Subscription interface {
	// Next waits for the next message. When ctx ends first it returns ctx's error and the
	// message, if any, stays for the next call. Any other error ends the subscription.
	// Only one goroutine may be in Next at a time.
	Next(ctx context.Context) (Message, error)

	// CaughtUp returns a channel that is closed when Next is called after it has returned every
	// message that the broker had stored for the subscription when it began.
	CaughtUp() <-chan struct{}

	// Close ends the subscription; a Next that waits in another goroutine returns
	// ErrClosed. Closing twice is harmless.
	Close() error
}

// ValidateMessages makes the checks that Publish promises before it stores anything: of every
// subject (ErrSubject) and of every payload's size (ErrPayload).
func ValidateMessages(msgs []Message) error {
	for _, m := range msgs {
		if err := ValidateSubject(m.Subject); err != nil {
			return err
		}
		if len(m.Data) > MaxPayload {
			return payloadError(m)
		}
	}
	return nil
}
