package natsbus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"choir/transport"
	"choir/transport/natsbus"
)

// ordinary starts a server with other limits than the embedded one has.
func ordinary(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.Host, options.NoSigs, options.NoLog, options.JetStream = "127.0.0.1", true, true, true
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if options.StoreDir == "" {
		options.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.WaitForShutdown)
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return s
}

// TestFewSubscriptions: a broker that allows fewer subscriptions than a member has is refused at once, with
// the cause and the remedy.
func TestFewSubscriptions(t *testing.T) {
	for subs, want := range map[int]bool{1: false, 2: false, 7: false, 8: true} {
		s := ordinary(t, server.Options{MaxSubs: subs})
		b, err := natsbus.Open(newContext(t), natsbus.Config{URL: s.ClientURL(), Plan: plan})
		if want && err == nil {
			err = b.EnsureStream(newContext(t))
		}
		if want != (err == nil) {
			t.Errorf("with %d subscriptions: %v", subs, err)
		}
		if err == nil {
			subscribedAfter(t, b, 3)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		wantAuth(t, err, "raise max_subscriptions")
	}
}

// TestFewerSubscriptions: a broker that comes back with a lower limit ends what waits for it, with the cause.
func TestFewerSubscriptions(t *testing.T) {
	p, dir := startProxy(t), t.TempDir()
	first := ordinary(t, server.Options{StoreDir: dir})
	p.aim(first)
	b := openBus(t, natsbus.Config{URL: p.url()})
	sub := subscribedAfter(t, b, 3)
	next := make(chan error, 1)
	go func() {
		_, err := sub.Next(newContext(t))
		next <- err
	}()
	first.Shutdown()
	first.WaitForShutdown()
	second := ordinary(t, server.Options{StoreDir: dir, MaxSubs: 1})
	p.aim(second)
	wantAuth(t, <-next, "raise max_subscriptions")
	wantAuth(t, b.Publish(newContext(t), transport.Message{Subject: subject}), "raise max_subscriptions")
}
