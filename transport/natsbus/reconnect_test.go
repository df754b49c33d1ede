package natsbus_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestConnectionIsReported checks that Config.Connected hears of a lost connection and of the next.
func TestConnectionIsReported(t *testing.T) {
	r := startRestartable(t)
	events := make(chan bool, 8)
	openBus(t, natsbus.Config{URL: r.proxy.url(), TokenFile: r.config.TokenFile,
		Connected: func(up bool, _ error) { events <- up }})
	r.proxy.cut()
	lostAndBack(t, events)
}

// lostAndBack waits until a connection is reported as lost, and then as there.
func lostAndBack(t *testing.T, events <-chan bool) {
	t.Helper()
	for _, want := range []bool{false, true} {
		select {
		case up := <-events:
			if up != want {
				t.Errorf("reported %v, want %v", up, want)
			}
		case <-newContext(t).Done():
			t.Fatal("nothing was reported")
		}
	}
}

// TestUnacknowledgedIsSentAgain checks that a message and a request that are lost while the
// connection stays are sent again, long before the connection counts as dead.
func TestUnacknowledgedIsSentAgain(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	b.SetFirstWait(50 * time.Millisecond)
	publishSome(t, b, 1) // which subscribes to the acknowledgements
	for name, do := range map[string]func() error{
		"publish": func() error { return b.Publish(newContext(t), transport.Message{Subject: subject}) },
		"request": func() error { return b.EnsureStream(newContext(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			lost := r.proxy.swallow()
			done := make(chan error, 1)
			go func() { done <- do() }()
			<-lost
			r.proxy.hear()
			if err := <-done; err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	if r.proxy.cuts > 0 {
		t.Error("the connection was cut")
	}
}

// Clients may start before the broker, and before there is a stream.
func TestBrokerComesLate(t *testing.T) {
	p := startProxy(t)
	token := write(t, "token", "s3cret")

	var stored atomic.Bool
	early := make(chan error, 1)
	go func() {
		b, err := natsbus.Open(newContext(t), natsbus.Config{URL: p.url(), TokenFile: token, Plan: plan})
		if err == nil {
			defer b.Close()
			err = b.Publish(newContext(t), chunkOf(7))
			stored.Store(err == nil)
		}
		early <- err
	}()
	time.Sleep(50 * time.Millisecond) // so that the first attempts fail; nothing depends on it
	server := startServer(t, embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token})
	p.aim(server)
	b, err := natsbus.Open(newContext(t), natsbus.Config{Server: server, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	time.Sleep(50 * time.Millisecond) // as above, for the stream
	if stored.Load() {
		t.Fatal("stored without a stream")
	}
	if err := b.EnsureStream(newContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-early; err != nil {
		t.Fatal(err)
	}
	if s, err := b.Subscribe(newContext(t), []string{subject}, 0); err != nil {
		t.Fatal(err)
	} else if _, err := s.Next(newContext(t)); err != nil {
		t.Fatal(err)
	}
}

func TestNoBroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := natsbus.Open(ctx, natsbus.Config{URL: "nats://127.0.0.1:1", Plan: plan})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, transport.ErrAuth) {
		t.Fatalf("error %v", err)
	}
}
