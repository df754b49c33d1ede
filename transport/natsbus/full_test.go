package natsbus_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestFullBroker: a client tells of a broker that is at its limit and goes on trying. Restarted, the broker
// has the same address and the same messages.
func TestFullBroker(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := embedded.Start(embedded.Config{StoreDir: filepath.Join(dir, "streams"), MaxStore: 1 << 20,
		Listen: "127.0.0.1:0", TokenFile: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	url := server.ClientURL()
	full := make(chan error, 10)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bus, err := natsbus.Open(ctx, natsbus.Config{URL: url, TokenFile: token, Plan: "00c0ffee",
		Full: func(_ bool, why error) { full <- why }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	if err := bus.EnsureStream(ctx); err != nil {
		t.Fatal(err)
	}
	stored, refused := 0, make(chan struct{})
	trying, stop := context.WithCancel(ctx)
	go func() {
		defer close(refused)
		m := transport.Message{Subject: "choir.00c0ffee.x", Data: make([]byte, 100<<10)}
		for ; err == nil; stored++ {
			err = bus.Publish(trying, m)
		}
	}()
	select {
	case why := <-full:
		if why == nil {
			t.Error("no reason")
		}
	case <-ctx.Done():
		t.Fatal("the client does not tell that the broker is full")
	}
	select {
	case <-server.Full():
	case <-ctx.Done():
		t.Fatal("the broker does not tell that it is full")
	}
	stop()
	<-refused
	if !errors.Is(err, context.Canceled) || stored < 5 {
		t.Errorf("%d messages, then %v", stored, err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if server.ClientURL() != url {
		t.Errorf("address %s, before %s", server.ClientURL(), url)
	}
	sub, err := bus.Subscribe(ctx, []string{"choir.00c0ffee.>"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range stored - 1 {
		if _, err := sub.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
