package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"choir/host"
	"choir/protocol"
	"choir/transport"
)

// restored is a member that is killed and started again from an older copy of its store.
type restored struct {
	what   string
	who    string
	before string            // the copy is of before a record with this prefix of a key
	last   func([]byte) bool // the last message that leaves before it is killed
	hidden bool              // the broker does not show it what it had sent
	salts  int               // of its contributions to round 1
	ends   string            // part of how it ends, "" for a session that completes
	sets   []int             // as in comes
	by     string            // who refuses what it sends then, as ErrEquivocate
}

func ofKind(k protocol.Kind) func([]byte) bool {
	return func(b []byte) bool { return protocol.Kind(b[0]) == k }
}

// TestRestoredStores: whatever a member forgets, it seals no two plaintexts under one key and
// nonce, and no sum counts two of its contributions.
func TestRestoredStores(t *testing.T) {
	rows := []restored{
		{what: "a chunk left and the manifest did not", who: "p0", before: "outbox", last: protocol.IsChunk,
			salts: 2, sets: []int{3, 4}, by: "c1"},
		{what: "a contribution left", who: "p0", before: "outbox", last: ofKind(protocol.KindContribution),
			salts: 1, ends: "rolled back"},
		{what: "a contribution left, which the broker hides", who: "p0", before: "outbox",
			last: ofKind(protocol.KindContribution), hidden: true, salts: 2,
			ends: "a contribution that this party did not make", by: "c"},
		{what: "a list left", who: "c0", before: "round", last: ofKind(protocol.KindHold), ends: "rolled back"},
		{what: "a result left", who: "agg", before: "last/", last: ofKind(protocol.KindResult), sets: []int{4, 4}},
	}
	for _, backend := range []string{"memory", "nats"} {
		t.Run(backend, func(t *testing.T) {
			connect := connector(t, backend)
			for _, row := range rows {
				t.Run(row.who+": "+row.what, func(t *testing.T) {
					t.Parallel()
					row.try(t, connect)
				})
			}
		})
	}
}

// lives is a member with two lives: its bus, its store and what it sent.
type lives struct {
	restored
	transport.Bus
	*host.Ram
	older  *host.Ram // the copy
	frozen bool
	kill   context.CancelFunc // nil in the second life
	mu     sync.Mutex
	said   [][]byte
}

// Apply implements host.Store in the first life.
func (l *lives) Apply(records []protocol.Record) error {
	for _, r := range records {
		l.frozen = l.frozen || strings.HasPrefix(r.Key, l.before)
	}
	if !l.frozen {
		if err := l.older.Apply(records); err != nil {
			return err
		}
	}
	return l.Ram.Apply(records)
}

// Close implements host.Store and transport.Bus.
func (l *lives) Close() error { return l.Bus.Close() }

// Publish implements transport.Bus.
func (l *lives) Publish(ctx context.Context, messages ...transport.Message) error {
	for _, m := range messages {
		if err := l.Bus.Publish(ctx, m); err != nil {
			return err
		}
		l.mu.Lock()
		l.said = append(l.said, m.Data)
		l.mu.Unlock()
		if l.kill != nil && l.last(m.Data) {
			l.kill()
			return ctx.Err()
		}
	}
	return nil
}

// Subscribe implements transport.Bus.
func (l *lives) Subscribe(
	ctx context.Context, filters []string, from uint64,
) (transport.Subscription, error) {
	s, err := l.Bus.Subscribe(ctx, filters, from)
	if l.hidden && err == nil {
		s = withoutOwn{s, l}
	}
	return s, err
}

// withoutOwn is a subscription without what the member sent.
type withoutOwn struct {
	transport.Subscription
	l *lives
}

func (s withoutOwn) Next(ctx context.Context) (transport.Message, error) {
	for {
		m, err := s.Subscription.Next(ctx)
		if err != nil || !s.l.has(m.Data) {
			return m, err
		}
	}
}

func (l *lives) has(data []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.said {
		if string(b) == string(data) {
			return true
		}
	}
	return false
}

// try runs the session. One whose end a busy machine has changed runs again with slower clocks.
func (row restored) try(t *testing.T, connect connect) {
	problems, err := row.live(connect, liveTimes)
	if err == nil && len(problems) > 0 {
		t.Logf("once more, because of %v", problems)
		problems, err = row.live(connect, liveTimes.times(3))
	}
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func (row restored) live(connect connect, c clocks) ([]string, error) {
	honest := cheater{}
	s, keys, err := honest.liveSession(c)
	if err != nil {
		return nil, err
	}
	bus, o := connect(s), newOutcome()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &lives{restored: row, Ram: host.NewRam(), older: host.NewRam()}
	var all sync.WaitGroup
	for i := range keys {
		b, err := bus(uint32(i))
		if err != nil {
			return nil, err
		}
		defer b.Close()
		all.Go(func() {
			run := func(ctx context.Context, store host.Store, b transport.Bus) error {
				return honest.member(ctx, s, uint32(i), keys[i], store, b, o, c, newSides())
			}
			name := s.Name(uint32(i))
			if name == "agg" && row.hidden {
				b = afterRefusal{b, func() { cheater{who: row.who, comes: row.refusal()}.linger(o) }}
			}
			if name != row.who {
				err = run(ctx, host.NewRam(), b)
			} else {
				l.Bus = b
				err = l.twice(ctx, run)
			}
			o.mu.Lock()
			o.ends[name] = err
			o.mu.Unlock()
			if name == row.who && err != nil {
				honest.linger(o)
				cancel() // the others wait for it
			}
		})
	}
	all.Wait()
	return l.judge(s, o), nil
}

// refusal is what comes of what the member sends the second time.
func (row restored) refusal() comes { return comes{refused: protocol.ErrEquivocate, by: row.by} }

// afterRefusal is the aggregator's bus. It holds results back until the nodes have refused what the
// member sends the second time, as a result ends the member's second life and the nodes' attempt.
type afterRefusal struct {
	transport.Bus
	wait func()
}

// Publish implements transport.Bus.
func (b afterRefusal) Publish(ctx context.Context, messages ...transport.Message) error {
	if slices.ContainsFunc(messages, func(m transport.Message) bool {
		return ofKind(protocol.KindResult)(m.Data)
	}) {
		b.wait()
	}
	return b.Bus.Publish(ctx, messages...)
}

// twice runs the member until it is killed, and again from the older copy.
func (l *lives) twice(ctx context.Context, run func(context.Context, host.Store, transport.Bus) error) error {
	first, kill := context.WithCancel(ctx)
	l.kill = kill
	err := run(first, l, l)
	if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
		return err
	}
	l.kill = nil
	return run(ctx, l.older, l)
}

func (l *lives) judge(s protocol.BoundPlan, o *outcome) (problems []string) {
	j := judgement{row: cheater{who: l.who, comes: comes{sets: l.sets, uncounted: l.who}},
		setup: cheater{}.table(), o: o}
	switch err := o.ends[l.who]; {
	case l.ends == "" && err != nil, l.ends != "" && (err == nil || !strings.Contains(err.Error(), l.ends)):
		j.problem("it ended with %v, want %q", err, l.ends)
	}
	if l.sets != nil {
		j.sets()
	}
	if l.by != "" && !o.refused(l.by, l.who, protocol.ErrEquivocate) {
		j.problem("nobody among %q refused what it sent the second time", l.by)
	}
	type nonce struct {
		protocol.Context
		index uint32
	}
	sealed, salts := map[nonce]string{}, map[protocol.Salt]bool{}
	for _, data := range l.said {
		c, err := protocol.UnmarshalChunk(data)
		if err != nil {
			continue
		}
		at := nonce{c.Context, c.Index}
		if before, ok := sealed[at]; ok && before != string(c.Ciphertext) {
			j.problem("two plaintexts for one key and nonce: %v", at)
		}
		sealed[at] = string(c.Ciphertext)
		salts[c.Salt] = salts[c.Salt] || c.Round == 1 && c.Purpose == protocol.PurposeShare
	}
	ofShares := 0
	for _, is := range salts {
		if is {
			ofShares++
		}
	}
	if ofShares != l.salts {
		j.problem("contributions to round 1 under %d salts, want %d", ofShares, l.salts)
	}
	return j.problems
}
