package natsbus_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

const subject = "choir." + plan + ".share"

// restartable is a broker over TCP that restarts on the same address. The address is a proxy's:
// another process could use the broker's port in between.
type restartable struct {
	t      *testing.T
	config embedded.Config
	server *embedded.Server
	proxy  *proxy
}

func startRestartable(t *testing.T) *restartable {
	r := &restartable{t: t, proxy: startProxy(t), config: embedded.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: write(t, "token", "s3cret"),
	}}
	r.start()
	t.Cleanup(func() { r.server.Shutdown() })
	return r
}

func (r *restartable) start() {
	r.t.Helper()
	server, err := embedded.Start(r.config)
	if err != nil {
		r.t.Error(err) // not Fatal: restarts run in goroutines of their own
		return
	}
	r.server = server
	r.proxy.aim(server)
}

func (r *restartable) bus() *natsbus.Bus {
	return openBus(r.t, natsbus.Config{URL: r.proxy.url(), TokenFile: r.config.TokenFile})
}

func index(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// chunkOf returns a chunk of 64 KiB, large enough that a failure interrupts some.
func chunkOf(n int) transport.Message {
	return transport.Message{Subject: subject, Data: append(index(n), make([]byte, 64<<10)...)}
}

// publishWhile publishes n chunks in batches, and calls trouble between some of them.
func publishWhile(t *testing.T, b transport.Bus, n int, trouble func()) <-chan error {
	ctx := newContext(t)
	result := make(chan error, 1)
	go func() {
		const batch = 20
		for i := 0; i < n; i += batch {
			var msgs []transport.Message
			for j := range batch {
				msgs = append(msgs, chunkOf(i+j))
			}
			if i > 0 && i%(n/4) == 0 {
				go trouble()
			}
			if err := b.Publish(ctx, msgs...); err != nil {
				result <- err
				return
			}
		}
		result <- nil
	}()
	return result
}

// readAll reads until each of n indices has arrived. It returns the number of messages and of
// duplicates among them, which Publish may cause.
func readAll(t *testing.T, s transport.Subscription, n int) (total, repeats int) {
	t.Helper()
	ctx := newContext(t)
	seen := make([]bool, n)
	last := uint64(0)
	for missing := n; missing > 0; total++ {
		m, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("%d of %d missing: %v", missing, n, err)
		}
		if m.Seq != last+1 { // the filter takes all, so that Seq counts
			t.Fatalf("Seq %d after %d", m.Seq, last)
		}
		last = m.Seq
		i := binary.BigEndian.Uint32(m.Data)
		if seen[i] {
			repeats++
			continue
		}
		seen[i] = true
		missing--
	}
	return total, repeats
}

func TestBrokerRestarts(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	reader := r.bus()
	s, err := reader.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var one sync.Mutex // restart at a time
	restarts := make(chan struct{}, 8)
	restart := func() {
		one.Lock()
		defer one.Unlock()
		r.server.Shutdown()
		r.start()
		restarts <- struct{}{}
	}
	const n = 400
	published := publishWhile(t, b, n, restart)
	total, repeats := readAll(t, s, n)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-restarts
	}
	t.Logf("%d messages, %d repeated, 3 restarts", total, repeats)

	// Idle, without messages in between; and replay from the file store.
	restart()
	if err := b.Publish(newContext(t), chunkOf(0)); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Next(newContext(t)); err != nil || m.Seq < uint64(total)+1 {
		t.Fatalf("after a restart while idle: Seq %d, %v", m.Seq, err)
	}
	again, err := reader.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, again, n)
}

func TestConnectionsCut(t *testing.T) {
	r := startRestartable(t)
	p := r.proxy
	config := natsbus.Config{URL: p.url(), TokenFile: r.config.TokenFile}
	b, reader := openBus(t, config), openBus(t, config)
	s, err := reader.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const n = 400
	published := publishWhile(t, b, n, p.cut)
	total, repeats := readAll(t, s, n)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cuts < 2 {
		t.Fatalf("only %d connections were cut", p.cuts)
	}
	if repeats > 0 {
		t.Errorf("%d of %d messages were stored twice in spite of their identifiers", repeats, total)
	}
}

// TestRequestsLostWithTheirConnection checks that a request over a connection that breaks is repeated
// over the next one, long before its timeout.
func TestRequestsLostWithTheirConnection(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *natsbus.Bus) error{
		"ensure stream": func(ctx context.Context, b *natsbus.Bus) error { return b.EnsureStream(ctx) },
		"subscribe": func(ctx context.Context, b *natsbus.Bus) error {
			s, err := b.Subscribe(ctx, []string{">"}, 0)
			if err != nil {
				return err
			}
			return s.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRestartable(t)
			b := r.bus()
			lost := r.proxy.swallow()
			answered := make(chan error, 1)
			ctx := newContext(t)
			go func() { answered <- ask(ctx, b) }()
			<-lost
			r.proxy.cut()
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}

// admin is a plain NATS client, for operations that the package does not have.
func (r *restartable) admin() jetstream.JetStream {
	conn, err := nats.Connect(r.server.ClientURL(), nats.Token("s3cret"))
	if err != nil {
		r.t.Fatal(err)
	}
	closed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(closed) })
	r.t.Cleanup(func() { conn.Close(); <-closed })
	js, err := jetstream.New(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	return js
}

// deleteConsumers deletes all of the stream's consumers and returns their number.
func (r *restartable) deleteConsumers() int {
	r.t.Helper()
	ctx := newContext(r.t)
	stream, err := r.admin().Stream(ctx, "CHOIR_"+plan)
	if err != nil {
		r.t.Fatal(err)
	}
	names, n := stream.ConsumerNames(ctx), 0
	for name := range names.Name() {
		if err := stream.DeleteConsumer(ctx, name); err != nil {
			r.t.Fatal(err)
		}
		n++
	}
	if names.Err() != nil {
		r.t.Fatal(names.Err())
	}
	return n
}

func TestConsumerDeleted(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := b.Publish(newContext(t), chunkOf(i)); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Next(newContext(t)); err != nil || m.Seq != uint64(i)+1 {
			t.Fatalf("Seq %d, want %d: %v", m.Seq, i+1, err)
		}
		if n := r.deleteConsumers(); n == 0 {
			t.Fatal("there was no consumer to delete")
		}
	}
}

func TestStreamReplaced(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	s := subscribedAfter(t, b, 5)
	r.server.Shutdown()
	if err := os.RemoveAll(filepath.Join(r.config.StoreDir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	r.start()
	if err := b.EnsureStream(newContext(t)); err != nil {
		t.Fatal(err)
	}
	wantLost(t, s)
}

// A broker lost the end of its storage: it has fewer messages than were delivered, or as many but
// others.
func TestStorageRolledBack(t *testing.T) {
	for name, since := range map[string]int{"shorter": 0, "rewritten": 4} {
		t.Run(name, func(t *testing.T) {
			r := startRestartable(t)
			b := r.bus()
			publishSome(t, b, 3)
			backup := t.TempDir()
			r.server.Shutdown()
			if err := os.CopyFS(backup, os.DirFS(r.config.StoreDir)); err != nil {
				t.Fatal(err)
			}
			r.start()
			s := subscribedAfter(t, b, 2)
			r.server.Shutdown()
			r.config.StoreDir = backup
			r.start()
			other := r.bus()
			publishSome(t, other, since)
			wantLost(t, s)
		})
	}
}

func publishSome(t *testing.T, b transport.Bus, n int) {
	t.Helper()
	for i := range n {
		if err := b.Publish(newContext(t), chunkOf(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// subscribedAfter publishes n messages and reads everything.
func subscribedAfter(t *testing.T, b transport.Bus, n int) transport.Subscription {
	t.Helper()
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := transport.Message{Subject: subject, Data: append(index(i), "mine"...)}
		if err := b.Publish(newContext(t), m); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m, err := s.Next(newContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if binary.BigEndian.Uint32(m.Data) == uint32(n-1) && strings.HasSuffix(string(m.Data), "mine") {
			return s
		}
	}
}

func wantLost(t *testing.T, s transport.Subscription) {
	t.Helper()
	for range 2 { // and it stays that way
		if m, err := s.Next(newContext(t)); !errors.Is(err, transport.ErrLost) {
			t.Fatalf("message %d, error %v, want %v", m.Seq, err, transport.ErrLost)
		}
	}
}

// TestStoreLost checks that members make a lost stream again and use it, and that a reader of the lost
// one is told.
func TestStoreLost(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	s := subscribedAfter(t, b, 5)
	before := b.Created()
	r.server.Shutdown()
	if err := os.RemoveAll(filepath.Join(r.config.StoreDir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	r.start()
	publishSome(t, b, 1)
	if b.Created().Equal(before) {
		t.Error("the new stream has the old one's time")
	}
	wantLost(t, s)
	again, err := b.Subscribe(newContext(t), []string{">"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, again, 1)
}
