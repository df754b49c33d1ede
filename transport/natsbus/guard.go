package natsbus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"choir/transport"
)

// guard is a running operation that ends early when the broker denies it something.
type guard struct {
	denied func(violation) bool
	fail   context.CancelCauseFunc
}

// guard derives the context of one operation. It ends with parent (the caller's), with base
// (the Bus's or the Subscription's) and with a violation that denied picks out; reason tells
// which it was.
func (b *Bus) guard(base, parent context.Context, denied func(violation) bool) (context.Context, func()) {
	ctx, fail := context.WithCancelCause(parent)
	stop := context.AfterFunc(base, func() { fail(context.Cause(base)) })
	if base.Err() != nil {
		fail(context.Cause(base)) // AfterFunc would tell, but only a moment later
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

// requestTimeout is when a request of the broker's API without an answer is asked again.
const requestTimeout = 30 * time.Second

// request derives the context of one attempt to ask the broker's API for something. A request
// that was lost with its connection isn't answered, however long the caller waits, so the
// attempt ends with the connection, too.
func (b *Bus) request(parent context.Context) (context.Context, func()) {
	epoch := b.currentEpoch() // before asking: a reconnect in between must not be missed
	ctx, cancel := context.WithTimeout(parent, requestTimeout)
	stop := context.AfterFunc(epoch, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// reason says why a guarded context ended: for a parent's end it is the parent's error, else
// the cause.
func reason(ctx, parent context.Context) error {
	if cause := context.Cause(ctx); cause != nil && cause != context.Cause(parent) {
		return cause
	}
	return parent.Err()
}

// because adds what was tried last to the reason why an operation ended. Either may be nil.
func because(why, last error) error {
	if why == nil || last == nil {
		return errors.Join(why, last)
	}
	return fmt.Errorf("%w (last attempt: %w)", why, last)
}

// violation is what the broker says, asynchronously, when a permission is missing.
type violation struct {
	publish bool   // as opposed to subscribe
	subject string // "" when the broker didn't say
	err     error
}

// parseViolation reads: Permissions Violation for Publish to "subject".
func parseViolation(err error) violation {
	text := err.Error()
	_, quoted, _ := strings.Cut(text, `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	return violation{publish: strings.Contains(text, "for Publish"), subject: subject, err: err}
}

// deny ends the operations that the violation concerns.
func (b *Bus) deny(v violation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.guards {
		if g.denied(v) {
			g.fail(fmt.Errorf("%w: %w", transport.ErrAuth, v.err))
		}
	}
}

// deniedAPI picks out what concerns a JetStream request: its subject, or the inbox of
// its answer (this package subscribes to nothing but inboxes).
func (b *Bus) deniedAPI(v violation) bool {
	return !v.publish || v.subject == "" || strings.HasPrefix(v.subject, "$JS.") || strings.HasPrefix(v.subject, b.config.apiPrefix()+".")
}

// deniedPublish picks out what concerns the publishing of msgs.
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
