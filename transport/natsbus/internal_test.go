package natsbus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"choir/transport"
)

// The broker's filters do not overlap, and they cover the subscription's.
func TestBrokerFilters(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "c", "*"})
	filter := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(token, 1, 4).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "open") {
			tokens = append(tokens, ">")
		}
		return "p.q." + strings.Join(tokens, ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		filters := rapid.SliceOfN(filter, 1, 6).Draw(t, "filters")
		broker, err := brokerFilters(filters, "p.q.")
		if err != nil {
			t.Fatal(err)
		}
		want, _ := transport.NewFilters(filters)
		for _, subject := range allSubjects() {
			hits := 0
			for _, f := range broker {
				one, err := transport.NewFilters([]string{f})
				if err != nil {
					t.Fatalf("%v gives %v: %v", filters, broker, err)
				}
				if one.Match(subject) {
					hits++
				}
			}
			if hits > 1 || hits == 0 && want.Match(subject) {
				t.Fatalf("%v gives %v, of which %d match %s", filters, broker, hits, subject)
			}
		}
	})
}

// allSubjects returns those below p.q with 1 to 5 tokens of a, b, c and one that no filter names.
func allSubjects() []string {
	var subjects []string
	level := []string{"p.q"}
	for range 5 {
		var next []string
		for _, s := range level {
			for _, token := range []string{"a", "b", "c", "d"} {
				next = append(next, s+"."+token)
			}
		}
		subjects = append(subjects, next...)
		level = next
	}
	return subjects
}

func TestConfine(t *testing.T) {
	for filter, want := range map[string]string{
		">": "p.q.>", "p.>": "p.q.>", "*.*.x": "p.q.x", "*.>": "p.q.>", "p.*.*": "p.q.*", "p.q.>": "p.q.>",
		"p": "", "p.q": "", "*": "", "*.*": "", "x.>": "", "p.x.y": "", "x.q.y": "",
	} {
		got, err := brokerFilters([]string{filter}, "p.q.")
		if want == "" && !errors.Is(err, transport.ErrSubject) || want != "" && strings.Join(got, " ") != want {
			t.Errorf("%s becomes %v, %v, want %q", filter, got, err, want)
		}
	}
}

// delivered is a jetstream.Msg and an iterator that records whether it was stopped.
type delivered struct {
	jetstream.Msg
	jetstream.MessagesContext
	meta    jetstream.MsgMetadata
	stopped bool
}

func (l *delivered) Metadata() (*jetstream.MsgMetadata, error) { return &l.meta, nil }
func (l *delivered) Subject() string                           { return "a" }
func (l *delivered) Data() []byte                              { return nil }
func (l *delivered) Headers() nats.Header                      { return nil }
func (l *delivered) Stop()                                     { l.stopped = true }

func deliver(consumer, stream uint64, stored time.Time) *delivered {
	return &delivered{meta: jetstream.MsgMetadata{
		Sequence: jetstream.SequencePair{Consumer: consumer, Stream: stream}, Timestamp: stored,
	}}
}

// After a gap in its messages the consumer is replaced and reads them again.
func TestReceive(t *testing.T) {
	filters, _ := transport.NewFilters([]string{">"})
	stored := time.Unix(1, 0)
	for name, row := range map[string]struct {
		consumed uint64
		replayed bool
		msg      *delivered
		deliver  bool
		detach   bool
		lost     bool
	}{
		"next":               {1, false, deliver(2, 9, stored), true, false, false},
		"hole":               {1, false, deliver(3, 9, stored), false, true, false},
		"repeat":             {1, false, deliver(1, 7, stored), false, true, false},
		"replayed":           {0, true, deliver(1, 7, stored), false, false, false},
		"replayed, missing":  {0, true, deliver(1, 8, stored), false, false, true},
		"replayed, replaced": {0, true, deliver(1, 7, stored.Add(1)), false, false, true},
		"replayed, hole":     {0, true, deliver(2, 8, stored), false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			iter := &delivered{}
			s := &subscription{
				filters:  filters,
				iter:     iter,
				consumed: row.consumed,
				replayed: row.replayed,
				last:     position{7, "a", stored},
			}
			_, ok, err := s.receive(row.msg)
			if ok != row.deliver || iter.stopped != row.detach || errors.Is(err, transport.ErrLost) != row.lost {
				t.Fatalf("delivered %v, detached %v, error %v", ok, iter.stopped, err)
			}
			if !row.deliver && s.last.seq != 7 {
				t.Fatalf("the position moved to %d", s.last.seq)
			}
		})
	}
}

// A single missing heartbeat is ignored; after two, and after any other error, the consumer is
// replaced.
func TestStumble(t *testing.T) {
	ctx := context.Background()
	iter := &delivered{}
	s := &subscription{iter: iter}
	s.iteratorFailed(ctx, jetstream.ErrNoHeartbeat)
	if iter.stopped {
		t.Fatal("replaced after one missing heartbeat")
	}
	s.iteratorFailed(ctx, jetstream.ErrNoHeartbeat)
	if !iter.stopped {
		t.Fatal("not replaced after two")
	}
	iter = &delivered{}
	s = &subscription{iter: iter}
	if s.iteratorFailed(ctx, jetstream.ErrConsumerDeleted); !iter.stopped {
		t.Fatal("not replaced")
	}
}

// MaxAge may remove the last message that was received: then there is nothing to compare with.
func TestStartAfterExpiry(t *testing.T) {
	created := time.Unix(1, 0)
	s := &subscription{created: created, last: position{7, "a", created}}
	info := &jetstream.StreamInfo{Created: created, State: jetstream.StreamState{FirstSeq: 9, LastSeq: 20}}
	if start, err := s.start(info); err != nil || start != 8 || s.replayed {
		t.Fatalf("start %d, replayed %v, %v", start, s.replayed, err)
	}
	info.State.FirstSeq = 7
	if start, err := s.start(info); err != nil || start != 7 || !s.replayed {
		t.Fatalf("start %d, replayed %v, %v", start, s.replayed, err)
	}
}

func TestViolation(t *testing.T) {
	for text, want := range map[string]violation{
		`nats: permissions violation: Permissions Violation for Publish to "a.b"`: {
			publish: true, subject: "a.b",
		},
		`nats: permissions violation: Permissions Violation for Subscription to "_INBOX.x" using queue`: {
			subject: "_INBOX.x",
		},
		`nats: permissions violation`: {},
	} {
		want.err = errors.New(text)
		got := parseViolation(want.err)
		if got.publish != want.publish || got.subject != want.subject {
			t.Errorf("%s: %+v", text, got)
		}
		if !new(Bus).deniedAPI(violation{subject: got.subject, publish: false}) {
			t.Errorf("%s: an inbox concerns every operation", text)
		}
	}
}

func TestWindow(t *testing.T) {
	w := newWindow(10)
	if ok, _ := w.acquire(7); !ok {
		t.Fatal("7 of 10")
	}
	ok, retry := w.acquire(4)
	if ok {
		t.Fatal("11 of 10")
	}
	select {
	case <-retry:
		t.Fatal("nothing was given back")
	default:
	}
	w.release(7)
	<-retry
	if ok, _ := w.acquire(10); !ok {
		t.Fatal("10 of 10")
	}
}

// SetFirstWait shortens the wait for an answer, for the external tests.
func (b *Bus) SetFirstWait(d time.Duration) { b.first = d }

func TestPatience(t *testing.T) {
	b := &Bus{first: firstWait}
	for tries, want := range []int{5, 10, 20, 30, 30} {
		if got := b.patience(tries); got != time.Duration(want)*time.Second {
			t.Errorf("after %d tries: %v", tries, got)
		}
	}
}

// TestAnnouncedServersAreIgnored lets a broker announce another address, which a client without TLS
// must not use: it would send its token there.
func TestAnnouncedServersAreIgnored(t *testing.T) {
	url := announcer(t)
	plain, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if len(plain.DiscoveredServers()) != 1 {
		t.Fatalf("the broker announces %v", plain.DiscoveredServers())
	}
	b, err := Open(t.Context(), Config{URL: url, Plan: "00c0ffee"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if found := b.conn.DiscoveredServers(); len(found) > 0 {
		t.Errorf("the client would connect to %v", found)
	}
}

// TestIgnoreAnnounced is about TLS, under which only the setting keeps a client to its own servers.
func TestIgnoreAnnounced(t *testing.T) {
	for _, c := range []struct {
		url           string
		setting, want bool
	}{
		{"nats://127.0.0.1:1", false, true},
		{"tls://127.0.0.1:1", false, false},
		{"tls://127.0.0.1:1", true, true},
	} {
		t.Run(fmt.Sprint(c.url, c.setting), func(t *testing.T) {
			b := &Bus{config: Config{URL: c.url, IgnoreAnnounced: c.setting}}
			options, err := b.identity()
			if err != nil {
				t.Fatal(err)
			}
			var got nats.Options
			for _, option := range options {
				if err := option(&got); err != nil {
					t.Fatal(err)
				}
			}
			if got.IgnoreDiscoveredServers != c.want {
				t.Errorf("announced servers are ignored: %v, want %v", got.IgnoreDiscoveredServers, c.want)
			}
		})
	}
}

// announcer is a broker that accepts every client and announces the address 192.0.2.1.
func announcer(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = fmt.Fprint(conn, `INFO {"server_id":"x","version":"2.12.0","proto":1,"headers":true,`+
					`"max_payload":1048576,"jetstream":true,"connect_urls":["192.0.2.1:4222"]}`+"\r\n")
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if lines.Text() == "PING" {
						_, _ = fmt.Fprint(conn, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + listener.Addr().String()
}

// TestAnswers: which of the broker's refusals are retried, and which tell that it is out of room.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		code           int
		number         jetstream.ErrorCode
		permanent, out bool
	}{
		"too few servers are up yet": {400, 10005, false, false},
		"a bad request":              {400, 10003, true, false},
		"insufficient resources":     {503, 10023, false, true},
		"JetStream has stopped":      {503, 10076, false, true},
		"the stream is full":         {400, 10047, true, false},
		"not there yet":              {404, 10059, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("publish: %w", &jetstream.APIError{Code: c.code, ErrorCode: c.number})
			if (permanent(err) != nil) != c.permanent || lacksRoom(err) != c.out {
				t.Errorf("permanent %v, out of room %v", permanent(err), lacksRoom(err))
			}
		})
	}
}
