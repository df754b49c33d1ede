package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
)

// Bounds of what is kept at the broker for a room. Whoever may publish there can fill it; a site then
// reads no further.
const (
	maxRoomDocuments = 1 << 16
	maxRoomBytes     = 256 << 20
)

// roomAge is how long the broker keeps a document. A site publishes those of its folder again when half
// of it is over, so that a room lasts for as long as a site follows it and is empty afterwards.
const roomAge = 90 * 24 * time.Hour

// Room is the connection of one site's copy of a consortium's folder to the others' copies. The
// documents are the messages of a stream of their own at the broker, which decides nothing: see
// terms.Exchange.
type Room struct {
	exchange terms.Exchange
	bus      *natsbus.Bus
	sub      transport.Subscription
	prefix   string
	stop     context.CancelFunc
	ended    chan struct{} // closed at the end of the reading

	mu    sync.Mutex
	came  []terms.Document     // not taken yet
	have  map[string]time.Time // when those at the broker were stored, by name
	count int                  // messages read
	bytes int
	err   error // ends the reading
}

// roomID is the identifier of the room's stream. It is longer than a plan's.
func roomID(name string) string {
	h := sha256.Sum256([]byte("choir v1 room\x00" + name))
	return hex.EncodeToString(h[:16])
}

// OpenRoom connects the folder through the broker of the configuration. own is the key of this site's
// member; the zero key is for a site that only proposes.
func OpenRoom(ctx context.Context, c *Config, folder terms.Consortium, own identity.PublicKey,
	log *slog.Logger) (*Room, error) {
	name, err := folder.Room()
	if err != nil {
		return nil, err
	}
	if c.Bus.URL == "" {
		return nil, protocol.Fail(protocol.ClassInput, "config: bus.url is missing: the folder is exchanged "+
			"through the broker")
	}
	id := roomID(name)
	r := &Room{exchange: terms.Exchange{Folder: folder, Own: own}, prefix: "choir." + id + ".",
		have: map[string]time.Time{}, ended: make(chan struct{})}
	if err := r.connect(ctx, c, id, log); err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go func() {
		defer close(r.ended)
		r.read(reading)
	}()
	select {
	case <-r.sub.CaughtUp():
	case <-r.ended: // Sync returns the reason
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), r.Close())
	}
	return r, nil
}

func (r *Room) connect(ctx context.Context, c *Config, id string, log *slog.Logger) (err error) {
	name := memberName(c)
	config := c.busOf(id, name+"-room")
	config.MaxBytes, config.MaxAge = maxRoomBytes, roomAge
	if config.InboxPrefix == "" {
		config.InboxPrefix = "_INBOX_" + name
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(c.connectLimit(), cancel).Stop()
	m := &Member{Config: c, Log: log}
	defer m.reportWait(&config, func(error) {})()
	if r.bus, err = natsbus.Open(limited, config); err != nil {
		return m.busError(ctx, limited, c.connectLimit(), err, false)
	}
	err = r.bus.EnsureStream(limited)
	if err == nil {
		r.sub, err = r.bus.Subscribe(limited, []string{r.prefix + ">"}, 0)
	}
	if err == nil {
		return nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = protocol.Fail(protocol.ClassTimeout, "room: the broker has no stream CHOIR_%s for it after %s, and "+
			"this user may make none: the site that may (the aggregator's, with accounts) runs choir invite or "+
			"join first: %w", id, c.connectLimit(), lastAttempt(err))
	} else {
		err = m.busError(ctx, limited, c.connectLimit(), err, true)
	}
	return errors.Join(err, r.bus.Close())
}

// read collects what is published until the room is closed.
func (r *Room) read(ctx context.Context) {
	for {
		m, err := r.sub.Next(ctx)
		if err == nil {
			err = r.add(m)
		}
		if err != nil {
			r.mu.Lock()
			r.err = err
			r.mu.Unlock()
			return
		}
	}
}

// add notes a message if its content is what its subject names.
func (r *Room) add(m transport.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.bytes += len(m.Data)
	if r.count > maxRoomDocuments || r.bytes > maxRoomBytes {
		return protocol.Fail(protocol.ClassInput, "room: more than %d documents or %d MiB are published there: "+
			"agree on another --room in a new folder, and look in the broker's log for who fills this one",
			maxRoomDocuments, maxRoomBytes>>20)
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, r.prefix), ".")
	d := terms.Document{Kind: terms.DocumentKind(kind), Data: m.Data}
	name := d.Name()
	if r.prefix+name != m.Subject {
		return nil
	}
	if r.have[name].IsZero() {
		r.came = append(r.came, d)
	}
	r.have[name] = m.Stored
	return nil
}

// Sync brings what has come into the folder and publishes what is there and not at the broker. The
// fingerprint is of the plan that this site approves, "" if of none.
func (r *Room) Sync(ctx context.Context, fingerprint string) error {
	r.mu.Lock()
	came, err := r.came, r.err
	r.came = nil
	r.mu.Unlock()
	if err != nil {
		return roomError(err)
	}
	if err := r.take(came, fingerprint); err != nil {
		return err
	}
	all, err := r.exchange.Folder.Documents()
	if err != nil {
		return err
	}
	return roomError(r.publish(ctx, all))
}

// settleEvery is how many documents are taken at a time.
const settleEvery = 64

// take brings documents into the folder.
func (r *Room) take(came []terms.Document, fingerprint string) error {
	for i, d := range came {
		if err := r.exchange.Take(d, time.Now()); err != nil {
			return err
		}
		if i%settleEvery < settleEvery-1 {
			continue
		}
		if err := r.exchange.Settle(fingerprint); err != nil {
			return err
		}
	}
	return r.exchange.Settle(fingerprint)
}

// publish sends the documents that are not at the broker, or not for much longer.
func (r *Room) publish(ctx context.Context, all []terms.Document) error {
	for _, d := range all {
		r.mu.Lock()
		stored := r.have[d.Name()]
		r.mu.Unlock()
		if time.Since(stored) < roomAge/2 {
			continue
		}
		if err := r.bus.Publish(ctx, transport.Message{Subject: r.prefix + d.Name(), Data: d.Data}); err != nil {
			return err
		}
		r.mu.Lock()
		r.have[d.Name()] = time.Now()
		r.mu.Unlock()
	}
	return nil
}

// roomError classes an error of the bus.
func roomError(err error) error {
	switch {
	case errors.Is(err, transport.ErrFull):
		return protocol.Fail(protocol.ClassInput, "room: it is full at the broker: agree on another --room in a "+
			"new folder: %w", err)
	case errors.Is(err, transport.ErrAuth):
		return protocol.Fail(protocol.ClassAuth, "room: %w", err)
	case errors.Is(err, transport.ErrLost):
		return fmt.Errorf("room: start the command again, which publishes this site's documents anew: %w", err)
	}
	return err
}

// Odd returns why documents of other sites were left out.
func (r *Room) Odd() []string { return r.exchange.Odd() }

// Close ends the connection.
func (r *Room) Close() error {
	r.stop()
	err := r.bus.Close()
	<-r.ended
	return err
}

// rooms keeps the folders of a Service that are exchanged through the broker in step.
type rooms struct {
	config *Config
	own    identity.PublicKey
	log    *slog.Logger
	known  map[string]bool
	all    sync.WaitGroup
}

// keep begins to exchange those of the folders that are new and have a room, until ctx ends.
func (k *rooms) keep(ctx context.Context, folders []string) {
	for _, dir := range folders {
		folder := terms.Consortium(dir)
		if name, err := folder.Room(); err != nil || name == "" || k.known[dir] {
			continue
		}
		k.known[dir] = true
		k.all.Go(func() { k.exchange(ctx, folder) })
	}
}

// exchange keeps one folder in step. What fails is tried again.
func (k *rooms) exchange(ctx context.Context, folder terms.Consortium) {
	said := map[string]bool{}
	warn := func(text string) {
		if !said[text] {
			said[text] = true
			k.log.Warn(string(folder)+": "+text, "event", "refused")
		}
	}
	for {
		err := k.session(ctx, folder, warn)
		if ctx.Err() != nil {
			return
		}
		warn(err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(serveRetry):
		}
	}
}

// session exchanges over one connection until an error or the end of ctx.
func (k *rooms) session(ctx context.Context, folder terms.Consortium, warn func(string)) error {
	r, err := OpenRoom(ctx, k.config, folder, k.own, k.log)
	if err != nil {
		return err
	}
	for {
		if err := r.Sync(ctx, ""); err != nil {
			return errors.Join(err, r.Close())
		}
		for _, text := range r.Odd() {
			warn("left out: " + text)
		}
		select {
		case <-ctx.Done():
			return r.Close()
		case <-time.After(servePoll):
		}
	}
}
