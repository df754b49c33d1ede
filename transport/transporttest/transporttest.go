// Package transporttest is the test suite that every transport.Bus must pass. It tests the contract
// in package transport: replay, order, filters, concurrency, sizes, cancellation and closing.
// Features of a single backend, such as reconnection, are tested in its package.
//
// Run refuses a Factory whose name, or whose buses' type, is not the expected one, so that a suite
// cannot test another backend than it names.
package transporttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"choir/transport"
)

// patience bounds every wait, so that a lost message fails a test with its name instead of blocking
// the run. It is no assertion about speed.
const patience = 3 * time.Minute

// Factory is one broker, empty at first.
type Factory interface {
	// Backend is the name of the backend, such as "memory" or "natsbus".
	Backend() string
	// Prefix is the required prefix of subjects, with its dot; "" for none.
	Prefix() string
	// Open opens a new connection to the broker, closed by the test or at its end.
	Open(t testing.TB, name string) transport.Bus
}

// Run runs the suite. open starts a new broker per case; its buses must be of the Go type busType,
// as fmt's %T prints it, and its Backend must be name.
func Run(t *testing.T, name, busType string, open func(t testing.TB) Factory) {
	cases := cases()
	ran := 0
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { // after what open registers
				if err := leaks(before); err != nil {
					t.Error(err)
				}
			})
			f := open(t)
			if f.Backend() != name {
				t.Fatalf("asked for backend %s, got %s", name, f.Backend())
			}
			h := &harness{t: t, f: f, busType: busType}
			c.run(h)
			if h.opened == 0 {
				t.Fatal("the case opened no bus")
			}
			ran++
		})
	}
	if ran != len(cases) && !t.Failed() && !filtered() {
		t.Fatalf("%d of %d cases ran", ran, len(cases))
	}
}

// filtered reports whether the command line selects cases, so that not all of them run.
func filtered() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		f := flag.Lookup(name)
		if f == nil {
			continue
		}
		pattern := f.Value.String()
		if strings.Contains(pattern, "/") || name == "test.skip" && pattern != "" {
			return true
		}
	}
	return false
}

type testCase struct {
	name string
	run  func(*harness)
}

func cases() []testCase {
	return []testCase{
		{"replay from the start", replayStart},
		{"replay from the middle", replayMiddle},
		{"live after replay", liveAfterReplay},
		{"caught up", caughtUp},
		{"filters", filters},
		{"filter validity", filterValidity},
		{"subject validity", subjectValidity},
		{"payload limit", payloadLimit},
		{"large messages", largeMessages},
		{"large messages interleaved", interleaved},
		{"several subscribers", severalSubscribers},
		{"concurrent publishers", concurrentPublishers},
		{"chunks arrive whole", chunks},
		{"buffers are not shared", ownership},
		{"large backlog and slow consumer", backlog},
		{"cancellation keeps the message", cancellation},
		{"cancelled before the call", cancelledBefore},
		{"close subscription", closeSubscription},
		{"close bus", closeBus},
	}
}

// harness is the state of a case.
type harness struct {
	t       *testing.T
	f       Factory
	busType string
	opened  int
}

func (h *harness) subject(format string, args ...any) string {
	return h.f.Prefix() + fmt.Sprintf(format, args...)
}

func (h *harness) bus(name string) transport.Bus {
	h.t.Helper()
	b := h.f.Open(h.t, name)
	if got := fmt.Sprintf("%T", b); got != h.busType {
		h.t.Fatalf("asked for %s, got %s", h.busType, got)
	}
	h.opened++
	return b
}

func (h *harness) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

func (h *harness) publish(b transport.Bus, msgs ...transport.Message) {
	h.t.Helper()
	if err := b.Publish(h.ctx(), msgs...); err != nil {
		h.t.Fatalf("publish: %v", err)
	}
}

func (h *harness) subscribe(b transport.Bus, from uint64, filters ...string) transport.Subscription {
	h.t.Helper()
	for i := range filters {
		filters[i] = h.f.Prefix() + filters[i]
	}
	s, err := b.Subscribe(h.ctx(), filters, from)
	if err != nil {
		h.t.Fatalf("subscribe: %v", err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// read reads n messages and checks that Seq strictly increases and is at least 1.
func (h *harness) read(s transport.Subscription, n int) []transport.Message {
	h.t.Helper()
	msgs, err := readMessages(h.ctx(), s, n)
	if err != nil {
		h.t.Fatal(err)
	}
	return msgs
}

// readMessages reads n messages from s. It checks that Seq strictly increases, from at least 1, and that
// Resume does not decrease and skips nothing.
func readMessages(ctx context.Context, s transport.Subscription, n int) ([]transport.Message, error) {
	msgs := make([]transport.Message, 0, n)
	last, resume := uint64(0), uint64(1)
	for len(msgs) < n {
		m, err := s.Next(ctx)
		if err != nil {
			return msgs, fmt.Errorf("message %d of %d: %w", len(msgs)+1, n, err)
		}
		if m.Seq <= last {
			return msgs, fmt.Errorf("message %d of %d: Seq %d after %d", len(msgs)+1, n, m.Seq, last)
		}
		if m.Resume < resume || m.Resume > m.Seq+1 {
			return msgs, fmt.Errorf("message %d of %d: Resume %d after %d, at Seq %d",
				len(msgs)+1, n, m.Resume, resume, m.Seq)
		}
		last, resume = m.Seq, m.Resume
		msgs = append(msgs, m)
	}
	return msgs, nil
}

// silent checks that no message is left: a marker published now is the next to arrive.
func (h *harness) silent(s transport.Subscription, b transport.Bus, marker string) {
	h.t.Helper()
	h.publish(b, transport.Message{Subject: marker})
	if m := h.read(s, 1)[0]; m.Subject != marker {
		h.t.Fatalf("unexpected message %d on %s", m.Seq, m.Subject)
	}
}

func (h *harness) wantErr(err, want error) {
	h.t.Helper()
	if !errors.Is(err, want) {
		h.t.Fatalf("error %v, want %v", err, want)
	}
}
