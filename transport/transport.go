// Package transport carries opaque messages between the members of a session. It knows
// neither roles nor keys: what travels is sealed and signed above it, and the broker behind a
// Bus may drop, repeat, delay, reorder or forge. The contract is therefore about liveness and
// order, never about trust:
//
//   - A Bus has one total order. Every stored message has a position in it, Seq, counted
//     from 1, and every subscription delivers its messages in that order, without a gap
//     and without a repeat.
//   - A message may be larger than what a broker takes in one piece. Whoever resumes a
//     subscription does it from Message.Resume, so that no piece is skipped.
//   - A stored message stays: a subscription that starts at 0 replays the whole past before
//     it delivers the present, so that a process can be restarted at any moment. A backend
//     may be given limits (size, age); it then refuses what is new rather than
//     forget silently, or says which limit it keeps.
//   - Publish may store a message twice when it had to repeat itself (the acknowledgement
//     was lost). Receivers are idempotent.
//   - An acknowledgement is not a receipt: a broker may lose what it acknowledged. A sender
//     keeps its outbox until the receiver's own signed receipt.
//
// Backends: transport/memory (in one process) and transport/natsbus (NATS JetStream). Both
// pass the suite in transport/transporttest.
package transport

import (
	"context"
	"errors"
)

// MaxPayload is the largest Data, in bytes, that a Bus carries in one message. Every backend
// accepts exactly this much, in as many pieces as its broker needs; see package fragment.
const MaxPayload = 64 << 20

// Errors that callers decide on. They arrive wrapped: use errors.Is.
var (
	// ErrClosed: the Bus or the Subscription was closed by this process.
	ErrClosed = errors.New("transport: closed")
	// ErrSubject: a subject or filter is malformed, or outside what this Bus may carry.
	ErrSubject = errors.New("transport: invalid subject")
	// ErrPayload: Data is longer than MaxPayload.
	ErrPayload = errors.New("transport: payload too large")
	// ErrAuth: the broker refused the credentials, or a permission that the operation needs.
	// Repeating the operation doesn't help.
	ErrAuth = errors.New("transport: not authorised")
	// ErrFull: the broker's storage limit is reached. Nothing stored was given up for it.
	ErrFull = errors.New("transport: storage limit reached")
	// ErrLost: the broker no longer has the history that a subscription was reading (its
	// storage was replaced or rolled back), so that it can't go on without a gap. The
	// subscriber must start again from 0.
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
	// increases; it skips what the filters skip. A message that is stored in pieces stands
	// where the piece stands that makes it whole.
	Seq uint64
	// Resume is where a subscription with the same filters has to start in order to miss
	// nothing that comes after this message: Seq+1, or less while another message is stored
	// in part. What is read again from there may contain messages that were delivered before.
	// It is set on delivery, ignored by Publish, and never decreases within a subscription.
	Resume uint64
}

// Bus is one member's connection. All methods may be called concurrently.
type Bus interface {
	// Publish stores all messages and returns when the broker has acknowledged every one.
	// Unless a message had to be repeated, they are stored in the order given. A malformed
	// subject (ErrSubject) or oversized payload (ErrPayload) anywhere refuses the whole call
	// before anything is stored. After any other error some messages may be stored; the
	// error names a subject that was not acknowledged. Lost connections and a broker that is
	// away are not errors: Publish repeats until ctx ends.
	Publish(ctx context.Context, msgs ...Message) error

	// Subscribe delivers every message, stored in the past or in the future, that matches
	// at least one filter (see ValidateFilter; filters may overlap) and whose first piece is
	// stored at from or later, in order of Seq. There must be at least one filter. ctx bounds
	// the call, not the life of the Subscription.
	//
	// A position is only meaningful as long as the broker keeps its storage: who keeps
	// one across restarts of the broker should rather start from 0.
	Subscribe(ctx context.Context, filters []string, from uint64) (Subscription, error)

	// Close ends the connection and its subscriptions, whose pending and later calls return
	// ErrClosed. Closing twice is harmless. What was stored stays stored.
	Close() error
}

// Subscription is a cursor over a Bus's total order.
type Subscription interface {
	// Next waits for the next message. When ctx ends first it returns ctx's error and the
	// message, if any, stays for the next call. Any other error ends the subscription.
	// Only one goroutine may be in Next at a time.
	Next(ctx context.Context) (Message, error)

	// Close ends the subscription; a Next that waits in another goroutine returns
	// ErrClosed. Closing twice is harmless.
	Close() error
}

// ValidateMessages checks what Publish promises to check before it stores anything: every
// subject (ErrSubject) and every payload's size (ErrPayload).
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
