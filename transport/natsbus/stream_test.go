package natsbus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

func TestEnsureStreamRace(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	var group sync.WaitGroup
	for i := range 8 {
		config := natsbus.Config{Server: server, Plan: plan, MaxBytes: int64(i+1) << 20} // they do not agree
		b, err := natsbus.Open(newContext(t), config)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		group.Go(func() {
			for range 3 {
				if err := b.EnsureStream(newContext(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestStreamKeepsItsPromises(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	publishSome(t, b, 3)
	got, err := r.admin().Stream(newContext(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.DeleteMsg(newContext(t), 2); err == nil {
		t.Error("a message could be deleted")
	}
	if err := got.Purge(newContext(t)); err == nil {
		t.Error("the stream could be purged")
	}
	info, err := got.Info(newContext(t))
	if err != nil || info.State.Msgs != 3 || info.Config.Retention != jetstream.LimitsPolicy {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestForeignStreamRefused(t *testing.T) {
	subjects := []string{"choir." + plan + ".>"}
	for name, config := range map[string]jetstream.StreamConfig{
		"subjects": {
			Subjects: []string{"other.>"}, DenyDelete: true, DenyPurge: true, Discard: jetstream.DiscardNew,
		},
		"retention": {
			Subjects: subjects, DenyDelete: true, DenyPurge: true, Discard: jetstream.DiscardNew,
			Retention: jetstream.InterestPolicy,
		},
		"discard":  {Subjects: subjects, DenyDelete: true, DenyPurge: true},
		"deletion": {Subjects: subjects, Discard: jetstream.DiscardNew},
		"message size": {
			Subjects: subjects, DenyDelete: true, DenyPurge: true, Discard: jetstream.DiscardNew, MaxMsgSize: 1000,
		},
		"message count": {
			Subjects: subjects, DenyDelete: true, DenyPurge: true, Discard: jetstream.DiscardNew, MaxMsgs: 1000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRestartable(t)
			config.Name = stream
			if _, err := r.admin().CreateStream(newContext(t), config); err != nil {
				t.Fatal(err)
			}
			b, err := natsbus.Open(newContext(t), natsbus.Config{Server: r.server, Plan: plan})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := b.EnsureStream(newContext(t)); err == nil || !strings.Contains(err.Error(), name) {
				t.Fatalf("error %v, want one about %s", err, name)
			}
		})
	}
}

func TestFull(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	b := openBus(t, natsbus.Config{Server: server, MaxBytes: 1 << 20})
	publishSome(t, b, 10)
	msgs := make([]transport.Message, 20)
	for i := range msgs {
		msgs[i] = chunkOf(i)
	}
	err := b.Publish(newContext(t), msgs...)
	if !errors.Is(err, transport.ErrFull) || !strings.Contains(err.Error(), subject) {
		t.Fatalf("error %v, want %v", err, transport.ErrFull)
	}
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Next(newContext(t)); err != nil || m.Seq != 1 {
		t.Fatalf("the first message was given up: Seq %d, %v", m.Seq, err)
	}
}

func TestServerLimits(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir(), MaxStore: 1 << 20})
	b, err := natsbus.Open(newContext(t), natsbus.Config{Server: server, Plan: plan, MaxBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.EnsureStream(newContext(t)); !errors.Is(err, transport.ErrFull) {
		t.Fatalf("error %v, want %v", err, transport.ErrFull)
	}
}

// Identifiers come from Config.Rand, and the broker drops a message with the same one: with a reader
// that repeats itself, the second message is a duplicate of the first.
func TestDeduplication(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	random := bytes.NewReader(append(make([]byte, 32), "sixteen bytes ok"...))
	b := openBus(t, natsbus.Config{Server: server, Rand: random})
	publishSome(t, b, 3)
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if m, err := s.Next(newContext(t)); err != nil || m.Seq != uint64(i)+1 || m.Data[3] != byte(2*i) {
			t.Fatalf("Seq %d is number %d, %v", m.Seq, m.Data[3], err)
		}
	}
	if err := b.Publish(newContext(t), chunkOf(0)); err == nil {
		t.Fatal("published without an identifier")
	}
}

func TestOutsideThePlan(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	b := openBus(t, natsbus.Config{Server: server})
	for _, foreign := range []string{"x", "choir", "choir." + plan, "choir.deadbeef.x", "$JS.API.INFO"} {
		err := b.Publish(newContext(t), transport.Message{Subject: foreign})
		if !errors.Is(err, transport.ErrSubject) {
			t.Errorf("publish to %s: %v", foreign, err)
		}
		_, err = b.Subscribe(newContext(t), []string{subject, foreign}, 0)
		if !errors.Is(err, transport.ErrSubject) {
			t.Errorf("subscribe to %s: %v", foreign, err)
		}
	}
}

// The Bus waits for the stream of a plan, and the error names the reason.
func TestNoStream(t *testing.T) {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	b, err := natsbus.Open(newContext(t), natsbus.Config{Server: server, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	// The limits grow, so that the broker has enough time for an answer on a busy machine.
	outOfTime := func(try func(context.Context) error, reason string) {
		t.Helper()
		for limit := 100 * time.Millisecond; ; limit *= 4 {
			ctx, cancel := context.WithTimeout(newContext(t), limit)
			err := try(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), reason) {
				return
			}
			if limit > 20*time.Second {
				t.Fatalf("after %v: error %v does not contain %q", limit, err, reason)
			}
		}
	}
	outOfTime(func(ctx context.Context) error {
		_, err := b.Subscribe(ctx, []string{">"}, 0)
		return err
	}, "stream not found")
	outOfTime(func(ctx context.Context) error { return b.Publish(ctx, chunkOf(0)) }, subject)
}
