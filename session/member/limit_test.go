package member_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/internal/site"
	"choir/session/member"
)

// fullServer starts a server whose account has all streams that it may have; makeRoom removes one.
func fullServer(t *testing.T) (url string, makeRoom func() error) {
	t.Helper()
	s := startServer(t, server.Options{JetStream: true})
	limits := map[string]server.JetStreamAccountLimits{"": {MaxMemory: -1, MaxStore: -1, MaxStreams: 1,
		MaxConsumers: -1}}
	if err := s.GlobalAccount().UpdateJetStreamLimits(limits); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "other"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.ClientURL(), func() error { return js.DeleteStream(t.Context(), "other") }
}

// TestMemberWaitsAtALimit: a broker that has as many streams as it may have keeps a member waiting for longer
// than timing.connect, which names the cause, until there is room, a signal or the plan's end.
func TestMemberWaitsAtALimit(t *testing.T) {
	for name, c := range map[string]struct {
		begun time.Duration // of a plan for a day
		end   func(stop func(), makeRoom func() error) error
		says  string // the log, at the end
		want  error
	}{
		"room": {end: func(_ func(), makeRoom func() error) error { return makeRoom() }, says: "event=connected",
			want: context.Canceled},
		"signal": {end: func(stop func(), _ func() error) error { stop(); return nil }, want: context.Canceled},
		"expiry": {begun: 24*time.Hour - 4*time.Second, end: func(func(), func() error) error { return nil },
			want: protocol.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a while
			_, configOf := site.Deploy(t, time.Now().Add(-c.begun))
			url, makeRoom := fullServer(t)
			own := configOf("party-a")
			own.Bus = member.BusConfig{URL: url}
			own.Timing.Connect = config.Duration{Duration: 300 * time.Millisecond}
			var log lockedText
			m, err := member.Open(own, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx) }()
			await(t, &log, ended, "maximum number of streams reached")
			if err := c.end(stop, makeRoom); err != nil {
				t.Fatal(err)
			}
			if c.says != "" {
				await(t, &log, ended, c.says)
				stop()
			}
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// TestMemberAtConnectionLimit: a running member whose connection is lost, and which the broker does not
// accept again since it has as many as it allows, tells so within seconds.
func TestMemberAtConnectionLimit(t *testing.T) {
	_, configOf := site.Deploy(t, time.Now())
	start := func(most int) string {
		return startServer(t, server.Options{JetStream: true, MaxConn: most}).Addr().String()
	}
	full := start(1)
	only, err := nats.Connect("nats://" + full)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(only.Close)
	f := forward(t, start(0))
	own := configOf("party-a")
	own.Bus = member.BusConfig{URL: "nats://" + f.listener.Addr().String()}
	var log lockedText
	m, err := member.Open(own, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	await(t, &log, ended, "event=connected")
	lost := time.Now()
	f.to(full)
	await(t, &log, ended, "maximum connections exceeded")
	if took := time.Since(lost); took > 40*time.Second { // it is told again after 15 s, on a busy machine
		t.Errorf("told after %v", took)
	}
	if !log.has("raise the limit") {
		t.Error("the log has no remedy")
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// forwarder passes connections on to an address that changes.
type forwarder struct {
	listener net.Listener
	mu       sync.Mutex
	address  string
	open     []net.Conn
}

func forward(t *testing.T, address string) *forwarder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{listener: l, address: address}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			out, err := net.Dial("tcp", f.address)
			if err != nil {
				_ = in.Close()
			} else {
				f.open = append(f.open, in, out)
				all.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
				all.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
			}
			f.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.to(address)
		all.Wait()
	})
	return f
}

// to ends all connections, and passes the next ones on to another address.
func (f *forwarder) to(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.address = address
	for _, c := range f.open {
		_ = c.Close()
	}
	f.open = nil
}

// await waits until the log has a text. The member must not end before.
func await(t *testing.T, log *lockedText, ended <-chan error, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !log.has(text) {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-deadline:
			t.Fatalf("the log has no %q", text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
