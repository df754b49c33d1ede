package natsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"choir/transport"
)

// guard is a running operation that ends early when the broker denies it a permission.
type guard struct {
	denied func(violation) bool
	fail   context.CancelCauseFunc
}

// guard derives the context of one operation. It ends with parent (the caller's), with base (the
// Bus's or the Subscription's) and with a violation for which denied returns true; reason returns
// which of them it was.
func (b *Bus) guard(base, parent context.Context, denied func(violation) bool) (context.Context, func()) {
	ctx, fail := context.WithCancelCause(parent)
	stop := context.AfterFunc(base, func() { fail(context.Cause(base)) })
	if base.Err() != nil {
		fail(context.Cause(base)) // AfterFunc would do so a moment later
	}
	g := &guard{denied: denied, fail: fail}
	b.mu.Lock()
	b.guards[g] = struct{}{}
	b.mu.Unlock()
	return ctx, func() {
		b.mu.Lock()
		delete(b.guards, g)
		b.mu.Unlock()
		stop()
		fail(nil)
	}
}

// What the broker has not acknowledged or answered is sent again after firstWait, which a stream
// without a leader costs, and each time after twice as long, for a slow link, up to longestWait.
const (
	firstWait   = 5 * time.Second
	longestWait = 30 * time.Second
)

// patience is the time to wait for an answer after a number of failed tries.
func (b *Bus) patience(tries int) time.Duration {
	return min(b.first<<min(tries, 8), longestWait)
}

// request derives the context of one request to the broker's API. A request that was lost with
// its connection is never answered, so the context ends with the connection, too.
func (b *Bus) request(parent context.Context, tries int) (context.Context, func()) {
	epoch := b.currentEpoch() // read before the request: a reconnect in between must not be missed
	ctx, cancel := context.WithTimeout(parent, b.patience(tries))
	stop := context.AfterFunc(epoch, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// reason returns why a guarded context ended: the parent's error if the parent has ended, else
// the cause.
func reason(ctx, parent context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != context.Cause(parent) {
		return cause
	}
	return parent.Err()
}

// withLast adds the error of the last attempt to the reason why an operation ended. Either may be
// nil.
func withLast(why, last error) error {
	if why == nil || last == nil || errors.Is(why, last) {
		return cmp.Or(why, last)
	}
	return fmt.Errorf("%w (last attempt: %w)", why, last)
}

// violation is the broker's asynchronous report of a missing permission.
type violation struct {
	publish bool   // as opposed to subscribe
	subject string // "" if the broker does not name it
	err     error
}

// parseViolation parses: Permissions Violation for Publish to "subject".
func parseViolation(err error) violation {
	text := err.Error()
	_, quoted, _ := strings.Cut(text, `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	return violation{publish: strings.Contains(text, "for Publish"), subject: subject, err: err}
}

// deny ends the operations that the violation concerns.
func (b *Bus) deny(v violation) {
	if v.ofAnnouncements() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.guards {
		if g.denied(v) {
			g.fail(fmt.Errorf("%w: %w", transport.ErrAuth, v.err))
		}
	}
}

// deniedAPI reports whether a violation concerns a JetStream request: its subject, or the inbox of
// its answer (this package subscribes to nothing but inboxes).
func (b *Bus) deniedAPI(v violation) bool {
	return !v.publish || v.subject == "" || strings.HasPrefix(v.subject, "$JS.") ||
		strings.HasPrefix(v.subject, b.config.apiPrefix()+".")
}

// deniedRead is deniedAPI for a client that need not create the stream.
func (b *Bus) deniedRead(v violation) bool {
	return b.deniedAPI(v) && !strings.Contains(v.subject, ".STREAM.CREATE.")
}

// deniedPublish returns a function that reports whether a violation concerns publishing msgs.
func deniedPublish(msgs []transport.Message) func(violation) bool {
	return func(v violation) bool {
		if !v.publish || v.subject == "" {
			return true
		}
		for _, m := range msgs {
			if m.Subject == v.subject {
				return true
			}
		}
		return false
	}
}
