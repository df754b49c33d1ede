package broker

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/natsbus"
)

// TestUsers gives two members a password each: with its own a member makes and uses a plan's stream,
// with another's it is refused, and none of them can delete the stream.
func TestUsers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "broker.toml")
	text := "listen = \"127.0.0.1:0\"\nstore_dir = \"store\"\n[users]\na = \"passwords/a\"\n" +
		"b = \"passwords/b\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, c, slog.New(slog.DiscardHandler), func(address string) { url <- address })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address := <-url
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config := natsbus.Config{URL: address, Plan: "00c0ffee", User: "a",
		PasswordFile: filepath.Join(dir, "passwords", "a")}
	bus, err := natsbus.Open(limited, config)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if err := bus.EnsureStream(limited); err != nil {
		t.Fatal(err)
	}
	if err := bus.Publish(limited, transport.Message{Subject: "choir.00c0ffee.x"}); err != nil {
		t.Fatal(err)
	}
	config.PasswordFile = filepath.Join(dir, "passwords", "b")
	if _, err := natsbus.Open(limited, config); err == nil {
		t.Error("another member's password is accepted")
	}
	password, err := os.ReadFile(filepath.Join(dir, "passwords", "b"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(address, nats.UserInfo("b", string(password[:len(password)-1])))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := js.DeleteStream(short, "CHOIR_00c0ffee"); err == nil {
		t.Error("a member deletes the stream")
	}
	if err := bus.EnsureStream(limited); err != nil {
		t.Fatal(err)
	}
	s, err := bus.Subscribe(limited, []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Next(limited); err != nil || m.Seq != 1 {
		t.Errorf("message %d, %v", m.Seq, err)
	}
}
