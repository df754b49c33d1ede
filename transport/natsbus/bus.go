// Package natsbus is a transport.Bus over NATS JetStream. Package embedded runs a server for
// deployments that have none.
//
// Each plan has one stream, CHOIR_<plan>, with the subjects choir.<plan>.> and limits retention:
// messages stay when they are consumed, and cannot be deleted or purged. A full stream refuses
// new messages (transport.ErrFull); only MaxAge removes stored ones. The stream's sequence is
// the Bus's total order. Vectors never travel over core NATS, which drops messages of slow
// readers.
//
// A message above 528 KiB is stored in pieces, each a message of the stream with a Choir-Piece
// header; see package fragment.
//
// The Bus recovers from a lost connection, a restarted broker, missing heartbeats and
// unacknowledged messages by itself. It returns transport.ErrLost if a broker lost or replaced
// messages that a subscription has delivered, and transport.ErrAuth for refused credentials and
// missing permissions, which NATS reports asynchronously and otherwise shows as timeouts.
//
// A broker's per-subject publish permissions do not prevent spoofing, since an acknowledgement
// can be directed at another client's subject: only signatures on the messages do.
package natsbus

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/internal/fragment"
)

// The first and the longest time between retries.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Bus is one connection to one plan's stream. See Open.
type Bus struct {
	config Config
	conn   *nats.Conn
	js     jetstream.JetStream
	window *window
	first  time.Duration // see patience

	ctx  context.Context // ends with the connection, for the reason in its cause
	fail context.CancelCauseFunc
	gone chan struct{} // closed when the connection's last callback has run

	asking sync.WaitGroup // of reportFailures

	mu       sync.Mutex
	last     error                   // of the latest attempt to connect
	accepted bool                    // the broker has accepted the client once
	refusals map[operation]time.Time // what the broker refuses for want of room, and when Full was called
	created  time.Time               // of the stream that EnsureStream found or made; zero before
	acked    time.Time               // when an acknowledgement last arrived
	epoch    context.Context         // ends at every reconnect, and another begins
	endEpoch context.CancelFunc
	guards   map[*guard]struct{}        // running operations
	subs     map[*subscription]struct{} // open subscriptions
}

var _ transport.Bus = (*Bus)(nil)

// Open connects to the broker and waits until it has accepted the client or ctx ends. It also
// waits for a broker that is not running yet. It creates no stream: see EnsureStream. It returns
// transport.ErrAuth for refused credentials and for certificates that one side does not accept.
func Open(ctx context.Context, config Config) (*Bus, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Rand == nil {
		config.Rand = rand.Reader
	}
	b := &Bus{
		config:   config,
		window:   newWindow(windowBytes),
		first:    firstWait,
		gone:     make(chan struct{}),
		refusals: make(map[operation]time.Time),
		guards:   make(map[*guard]struct{}),
		subs:     make(map[*subscription]struct{}),
	}
	b.epoch, b.endEpoch = context.WithCancel(context.Background())
	b.ctx, b.fail = context.WithCancelCause(context.Background())
	if err := b.connect(ctx); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) connect(ctx context.Context) error {
	options, err := b.options()
	if err != nil {
		return err
	}
	if b.conn, err = nats.Connect(strings.Join(b.config.urls(), ","), options...); err != nil {
		return authError(err)
	}
	b.js, err = jetstream.NewWithAPIPrefix(b.conn, b.config.apiPrefix(),
		jetstream.WithPublishAsyncMaxPending(2*windowBytes/messageCost),
		jetstream.WithPublishAsyncTimeout(longestWait))
	if err != nil {
		return err
	}
	return b.awaitConnection(ctx)
}

// maxFailedTLS is the number of TLS failures in a row that awaitConnection treats as a refusal.
// A broker that stops in the middle of a handshake looks the same, but then stops listening.
const maxFailedTLS = 4

// awaitConnection waits for the first connection: nats.Connect returns before there is one if
// the broker is down.
func (b *Bus) awaitConnection(parent context.Context) error {
	ctx, release := b.guard(b.ctx, parent, b.deniedAPI)
	defer release()
	failed := 0
	var full error
	for pause := minBackoff; !b.conn.IsConnected(); {
		if !sleep(ctx, &pause) {
			return withLast(reason(ctx, parent), cmp.Or(full, b.attemptError()))
		}
		err := b.attemptError()
		if dropped(err) {
			err = cmp.Or(b.config.greeting(ctx), err)
		}
		if full = nil; atConnectionLimit(err) {
			full = atLimit(err)
			b.failed(full)
		}
		if !failedTLS(err) {
			failed = 0
		} else if failed++; failed == maxFailedTLS {
			return fmt.Errorf("%w: %w", transport.ErrAuth, err)
		}
	}
	b.mu.Lock()
	b.accepted = true
	b.mu.Unlock()
	if limit := b.conn.MaxPayload(); limit < fragment.Size+headerRoom {
		return fmt.Errorf("broker: max_payload is %d bytes, need %d: set max_payload: 1MB in the server's file",
			limit, fragment.Size+headerRoom)
	}
	return b.trySubscriptions(ctx)
}

// Close implements transport.Bus. It returns when the connection's callbacks have ended.
func (b *Bus) Close() error {
	b.fail(transport.ErrClosed)
	for _, s := range b.subscriptions() {
		_ = s.Close()
	}
	if b.conn != nil {
		b.conn.Close()
		<-b.gone
		b.asking.Wait()
	}
	return nil
}

func (b *Bus) subscriptions() []*subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	subs := make([]*subscription, 0, len(b.subs))
	for s := range b.subs {
		subs = append(subs, s)
	}
	return subs
}

// wrap adds the operation to an error.
func (b *Bus) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("broker: %s: %w", what, err)
}

// sleep waits and doubles the pause, up to maxBackoff. It returns false if ctx ends.
func sleep(ctx context.Context, pause *time.Duration) bool {
	timer := time.NewTimer(*pause)
	defer timer.Stop()
	*pause = min(2**pause, maxBackoff)
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
