package natsbus

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// operation is what a broker refuses for want of room.
type operation int

const (
	publishing operation = iota
	reading
)

// fullAgain is the time after which Config.Full is called again.
const fullAgain = time.Minute

// noteRoom calls Config.Full when the broker begins or ceases to refuse an operation for want of room, and
// every fullAgain in between.
func (b *Bus) noteRoom(what operation, refused bool, why error) {
	full := refused && b.lacksRoom(why)
	if refused && !full {
		return // another reason says nothing about room
	}
	b.mu.Lock()
	told, was := b.refusals[what]
	call := full != was || full && time.Since(told) >= fullAgain
	switch {
	case !full:
		delete(b.refusals, what)
		call = was && len(b.refusals) == 0
	case call:
		b.refusals[what] = time.Now()
	}
	b.mu.Unlock()
	if call && b.config.Full != nil {
		b.config.Full(full, why)
	}
}

// atLimit adds transport.ErrFull, and what to do, to the answer of a broker that is at its limit.
func atLimit(err error) error {
	return fmt.Errorf("%w: %w: raise the limit of the stream, the account or the server, or remove what is over",
		transport.ErrFull, err)
}

// atConnectionLimit recognizes a broker that has as many connections as it allows.
func atConnectionLimit(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, nats.MAX_CONNECTIONS_ERR) ||
		strings.Contains(text, nats.MAX_ACCOUNT_CONNECTIONS_ERR)
}

// dropped recognizes a connection that the broker has closed before the client could read why.
func dropped(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

// greeting connects without a word and returns the refusal that the broker greets a client with, nil if
// there is none. NATS's client does not see it if its own first message meets a closed connection.
func (c Config) greeting(parent context.Context) error {
	const patience = time.Second
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	u, err := url.Parse(c.urls()[0])
	if c.Server != nil || err != nil || u.Scheme == "ws" || u.Scheme == "wss" {
		return nil
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), strconv.Itoa(nats.DefaultPort)))
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil // the client reports that
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil
	}
	lines := bufio.NewScanner(io.LimitReader(conn, 1<<16))
	for lines.Scan() {
		if refusal, ok := strings.CutPrefix(lines.Text(), "-ERR "); ok {
			return errors.New("nats: " + strings.ToLower(strings.Trim(refusal, "'")))
		}
	}
	return nil
}

// permanent is the function permanent, but for limits at which the Bus waits.
func (b *Bus) permanent(err error) error {
	if b.lacksRoom(err) {
		return nil
	}
	return permanent(err)
}

// lacksRoom is the function lacksRoom, with the limits at which the Bus waits.
func (b *Bus) lacksRoom(err error) bool {
	var api *jetstream.APIError
	return lacksRoom(err) || b.config.WaitAtLimits && errors.As(err, &api) && isFull(api)
}

// permanent returns the error, with its sentinel, if a retry does not help, else nil.
func permanent(err error) error {
	if errors.Is(err, errForeign) {
		return err
	}
	const tooFewPeers = 10005 // a cluster that is starting does not know all its servers yet
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return nil
	}
	switch {
	case api.ErrorCode == tooFewPeers:
		return nil
	case isFull(api):
		return fmt.Errorf("%w: %w", transport.ErrFull, err)
	case api.Code == 400 || api.Code == 403 || api.Code == 500:
		return err
	}
	return nil // 404, 408, 429, 503: not there yet, or too busy
}

// lacksRoom recognizes a broker that is out of room as a whole, which goes on when there is room again:
// it is at its limit, or has stopped JetStream because its disk is full.
func lacksRoom(err error) bool {
	const insufficientResources, notEnabled, notEnabledForAccount = 10023, 10076, 10039
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case insufficientResources, notEnabled, notEnabledForAccount:
		return true
	}
	return false
}

// isFull recognizes the broker's answers at a limit of the stream or of its account. The stream's own
// limits have no error code.
func isFull(api *jetstream.APIError) bool {
	const memoryExceeded, storageExceeded, resourcesExceeded = 10028, 10047, 10002
	const tooManyStreams, tooManyConsumers = 10027, 10026
	switch api.ErrorCode {
	case memoryExceeded, storageExceeded, resourcesExceeded, tooManyStreams, tooManyConsumers:
		return true
	}
	for _, what := range []string{"bytes", "messages", "messages per subject"} {
		if strings.Contains(api.Description, "maximum "+what+" exceeded") {
			return true
		}
	}
	return false
}
