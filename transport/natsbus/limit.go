package natsbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"choir/transport"
)

// maxSubscriptions is the number of subscriptions that a connection may have at once: the answers to
// requests, the acknowledgements, the announcements and a consumer, and the consumers that were
// replaced, which end a moment later.
const maxSubscriptions = 8

// errFewSubscriptions is the error of a broker that refuses subscriptions. Its report names none, so
// that all operations end: what they wait for may be in a subscription that is not there.
var errFewSubscriptions = fmt.Errorf("%w: %w: a member has up to %d at once: raise max_subscriptions in "+
	"the server's file, or the account's limit",
	transport.ErrAuth, nats.ErrMaxSubscriptionsExceeded, maxSubscriptions)

// trySubscriptions returns errFewSubscriptions if the connection may not have maxSubscriptions at once.
// If the broker does not answer, it returns nil: the operations then report a refusal.
func (b *Bus) trySubscriptions(parent context.Context) error {
	ctx, release := b.request(parent, 0)
	defer release()
	for range maxSubscriptions {
		s, err := b.conn.SubscribeSync(b.conn.NewInbox())
		if err != nil {
			return nil // not connected any more
		}
		defer func() { _ = s.Unsubscribe() }() // it fails when the connection is closed
	}
	_ = b.conn.FlushWithContext(ctx) // a refusal arrives before its answer
	if errors.Is(b.conn.LastError(), nats.ErrMaxSubscriptionsExceeded) {
		return errFewSubscriptions
	}
	return nil
}
