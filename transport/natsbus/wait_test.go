package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/natsbus"
)

// limited starts a server whose only account has these limits, and returns a client of the account.
func limited(t *testing.T, limits, jetStream string) (config natsbus.Config, admin jetstream.JetStream) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("accounts { A { limits { %s }, jetstream { %s }, "+
		"users: [ { user: a, password: pw } ] } }", limits, jetStream)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := ordinary(t, *options)
	return natsbus.Config{URL: s.ClientURL(), User: "a", PasswordFile: write(t, "pw", "pw"), Plan: plan,
		WaitAtLimits: true}, adminOf(t, s.ClientURL())
}

func adminOf(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, nats.UserInfo("a", "pw"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// waits checks that an operation reports that the broker is at its limit, and succeeds after change.
func waits(t *testing.T, refused <-chan error, do, change func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case why := <-refused:
		if why == nil {
			t.Fatal("no reason")
		}
		t.Log(why)
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-newContext(t).Done():
		t.Fatal("nothing was reported")
	}
	if err := change(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestPublishWaitsAtLimits: a bus that is to wait goes on when the limit of its stream is raised.
func TestPublishWaitsAtLimits(t *testing.T) {
	for name, limit := range map[string]func(*jetstream.StreamConfig, int64){
		"bytes":    func(c *jetstream.StreamConfig, to int64) { c.MaxBytes = to << 16 },
		"messages": func(c *jetstream.StreamConfig, to int64) { c.MaxMsgs = to },
	} {
		t.Run(name, func(t *testing.T) {
			config, admin := limited(t, "", "max_streams: 2")
			refused, again := make(chan error, 100), make(chan struct{}, 100)
			config.Full = func(full bool, why error) {
				if full {
					refused <- why
				} else {
					again <- struct{}{}
				}
			}
			b := openBus(t, config)
			raise := func(to int64) error {
				s, err := admin.Stream(newContext(t), stream)
				if err != nil {
					return err
				}
				now := s.CachedInfo().Config
				limit(&now, to)
				_, err = admin.UpdateStream(newContext(t), now)
				return err
			}
			if err := raise(3); err != nil {
				t.Fatal(err)
			}
			waits(t, refused, func() error {
				for i := range 8 {
					if err := b.Publish(newContext(t), chunkOf(i)); err != nil {
						return err
					}
				}
				return nil
			}, func() error { return raise(100) })
			<-again
		})
	}
}

// TestEnsureStreamWaitsAtLimits: a bus that is to wait makes its stream when there may be another.
func TestEnsureStreamWaitsAtLimits(t *testing.T) {
	config, admin := limited(t, "", "max_streams: 1")
	if _, err := admin.CreateStream(newContext(t), jetstream.StreamConfig{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 100)
	config.Failed = func(why error) { refused <- why }
	b, err := natsbus.Open(newContext(t), config)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	waits(t, refused, func() error { return b.EnsureStream(newContext(t)) },
		func() error { return admin.DeleteStream(newContext(t), "other") })
	config.WaitAtLimits, config.Plan = false, "00c0ffef"
	other, err := natsbus.Open(newContext(t), config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.EnsureStream(newContext(t)); !errors.Is(err, transport.ErrFull) {
		t.Errorf("one that is not to wait: %v", err)
	}
}

// TestSubscribeWaitsAtLimits: a bus that is to wait reads when another subscription has ended.
func TestSubscribeWaitsAtLimits(t *testing.T) {
	config, admin := limited(t, "", "max_consumers: 1")
	refused := make(chan error, 100)
	config.Full = func(full bool, why error) {
		if full {
			refused <- why
		}
	}
	b := openBus(t, config)
	s, err := admin.Stream(newContext(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.CreateConsumer(newContext(t), jetstream.ConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	waits(t, refused, func() error {
		_, err := b.Subscribe(newContext(t), []string{">"}, 0)
		return err
	}, func() error { return s.DeleteConsumer(newContext(t), other.CachedInfo().Name) })
}

// TestOpenWaitsAtLimits: a bus connects when its account may have another connection, and Failed hears that
// the broker is at its limit.
func TestOpenWaitsAtLimits(t *testing.T) {
	t.Run("account", func(t *testing.T) {
		config, admin := limited(t, "max_connections: 1", "")
		opensAfter(t, config, admin.Conn().Close)
	})
	t.Run("server", func(t *testing.T) {
		s := ordinary(t, server.Options{MaxConn: 1})
		opensAfter(t, natsbus.Config{URL: s.ClientURL(), Plan: plan}, adminOf(t, s.ClientURL()).Conn().Close)
	})
}

// opensAfter checks that a bus connects after free has ended another connection.
func opensAfter(t *testing.T, config natsbus.Config, free func()) {
	t.Helper()
	short, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := natsbus.Open(short, config); !errors.Is(err, transport.ErrFull) {
		t.Errorf("%v, want %v", err, transport.ErrFull)
	}
	refused := make(chan error, 100)
	config.Failed = func(why error) {
		if errors.Is(why, transport.ErrFull) {
			refused <- why
		}
	}
	waits(t, refused, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b, err := natsbus.Open(ctx, config)
		if err == nil {
			err = b.Close()
		}
		return err
	}, func() error {
		free()
		return nil
	})
}
