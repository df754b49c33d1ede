package member

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/host"
	"choir/host/status"
	"choir/protocol"
)

// OpenStore opens the member's store, for the external tests.
func (m *Member) OpenStore() (host.Store, error) { return m.openStore() }

// WriteOutputs writes what the store has of a session that has ended, for the external tests.
func (m *Member) WriteOutputs(store host.Store, end error) error {
	return m.writeOutputs(store.(*host.Scoped), end)
}

// TestAnotherStreamIsReadFromItsStart checks that a store's position on the bus counts for one
// stream only.
func TestAnotherStreamIsReadFromItsStart(t *testing.T) {
	store := host.NewRam()
	m := &Member{Log: slog.New(slog.DiscardHandler), stream: time.Unix(1, 0)}
	cursor := host.Rewind().Key
	for i, step := range []struct {
		created int64
		kept    bool
	}{{1, true}, {1, true}, {2, false}, {2, true}} {
		if err := store.Apply([]protocol.Record{{Key: cursor, Value: []byte("position")}}); err != nil {
			t.Fatal(err)
		}
		m.stream = time.Unix(step.created, 0)
		if err := m.sameStream(store); err != nil {
			t.Fatal(err)
		}
		if kept := store.Get(cursor) != nil; kept != step.kept {
			t.Errorf("step %d: position kept: %v", i, kept)
		}
	}
}

// TestConnectionsLostInQuickOrder: a broker that closes the connection whenever it is back has another
// cause than the network, and the log says where to look.
func TestConnectionsLostInQuickOrder(t *testing.T) {
	var log strings.Builder
	m := &Member{Log: slog.New(slog.NewTextHandler(&log, nil))}
	lose := func() string {
		log.Reset()
		m.connectionChanged(false, io.EOF)
		text := log.String()
		m.connectionChanged(true, nil)
		return text
	}
	for i := range 2 * manyLosses {
		if text := lose(); strings.Contains(text, "max_pending") != (i >= manyLosses-1) ||
			!strings.Contains(text, "event=disconnected error=EOF") {
			t.Errorf("loss %d: %s", i, text)
		}
	}
	for i := range m.losses {
		m.losses[i] = time.Now().Add(-time.Minute)
	}
	if text := lose(); strings.Contains(text, "max_pending") {
		t.Errorf("after a quiet minute: %s", text)
	}
}

// Age makes the documents at the broker older, for the external tests.
func (r *Room) Age(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, stored := range r.have {
		r.have[name] = stored.Add(-by)
	}
}

// Count is how many messages have been read.
func (r *Room) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// TestObserverWithoutBroker checks that nobody is missing because the broker is away, and that members
// have time to be heard again when it is back.
func TestObserverWithoutBroker(t *testing.T) {
	plan := &protocol.Plan{Members: []protocol.Member{{Name: "party-a"}, {Name: "party-b"}}}
	heard := time.Now()
	o := &Observer{session: protocol.BoundPlan{Plan: plan}, since: heard.Add(-time.Hour),
		peers: map[string]status.Peer{"party-a": {Name: "party-a", Heard: &heard}}}
	for i, step := range []struct {
		change  func()
		lost    bool
		missing int
	}{
		{func() {}, false, 1},
		{func() { o.connected(false, nil) }, true, 1},
		{func() { // an hour ago
			lost, before := o.facts.BrokerLost.Add(-time.Hour), heard.Add(-time.Hour)
			o.facts.BrokerLost, o.peers["party-a"] = &lost, status.Peer{Name: "party-a", Heard: &before}
		}, true, 0},
		{func() { o.connected(true, nil) }, false, 0},
	} {
		step.change()
		p, err := o.Progress(10 * time.Minute)
		if err != nil || len(p.Missing) != step.missing || (p.BrokerLost != nil) != step.lost {
			t.Errorf("step %d: missing %v, lost %v, %v", i, p.Missing, p.BrokerLost, err)
		}
	}
}

// TestExpiredSessionIsOver: a session that the aggregator ended at the plan's expiry has ended as expired,
// and another one that ended early has not.
func TestExpiredSessionIsOver(t *testing.T) {
	for _, c := range []struct {
		reason string
		class  protocol.Class
	}{{protocol.ErrExpired.Error() + ": before the first round", protocol.ClassIntegrity},
		{"the study was withdrawn", protocol.ClassQuorum}} {
		p := Progress{cause: (&protocol.Abort{Class: uint8(c.class), Reason: c.reason}).Cause()}
		p.Ended = p.cause.Error()
		if err, over := p.Over(time.Now()); !over || protocol.ClassOf(err) != c.class {
			t.Errorf("%s: over: %t, %v", c.reason, over, err)
		}
	}
}

// TestWritingIsInterrupted: a member that is told to end while it writes its results ends at once, and what
// the writing needs is released afterwards only. Results that are written because a member is told to end
// are waited for.
func TestWritingIsInterrupted(t *testing.T) {
	errWritten := errors.New("written")
	ctx, cancel := context.WithCancel(t.Context())
	writing, released := make(chan struct{}), make(chan struct{})
	write := func() error {
		cancel()
		<-writing
		return errWritten
	}
	release := func() {
		select {
		case <-writing:
		default:
			t.Error("released while it is used")
		}
		close(released)
	}
	if err := interruptible(ctx, write, release); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	close(writing)
	<-released
	for _, ctx := range []context.Context{ctx, t.Context()} { // ended before, and not ended
		released = make(chan struct{})
		if err := interruptible(ctx, write, release); !errors.Is(err, errWritten) {
			t.Errorf("not interrupted: %v", err)
		}
		select {
		case <-released:
		default:
			t.Error("not released when it returns")
		}
	}
}

// TestWhoAnswersIsThere: a member that has answered the last question is not missing, however late somebody
// looks; one that has not is.
func TestWhoAnswersIsThere(t *testing.T) {
	plan := &protocol.Plan{Members: []protocol.Member{{Name: "party-a"}, {Name: "party-b"}, {Name: "party-c"}}}
	asked := time.Now().Add(-time.Minute)
	before, after := asked.Add(-time.Second), asked.Add(time.Millisecond)
	o := &Observer{session: protocol.BoundPlan{Plan: plan}, since: asked.Add(-time.Hour), asked: asked,
		peers: map[string]status.Peer{"party-a": {Name: "party-a", Heard: &before},
			"party-b": {Name: "party-b", Heard: &after}}}
	p, err := o.Progress(time.Second)
	if err != nil || strings.Join(p.Missing, " ") != "party-a party-c" {
		t.Errorf("missing %v, %v", p.Missing, err)
	}
}

// TestLastWordOfAParty: the others hear of a failed party the exit code alone, and why one was told to leave.
func TestLastWordOfAParty(t *testing.T) {
	plan := &protocol.Plan{Members: []protocol.Member{{Name: "a", Role: protocol.RoleParty},
		{Name: "n", Role: protocol.RoleCompute}}}
	failure := protocol.Fail(protocol.ClassInput, "64016 bytes, want 12688")
	for _, c := range []struct {
		member uint32
		err    error
		want   string
	}{{0, failure, "stopped with exit code 4"}, {1, failure, failure.Error()},
		{0, leftError("withdrawn"), leftError("withdrawn").Error()}} {
		m := &Member{Session: protocol.Bind(plan), Index: c.member}
		w := &watcher{Monitor: status.New(status.Config{Session: m.Session, Member: c.member}), m: m}
		w.Stopped(c.err)
		if got := *w.word.Load(); got != c.want || w.Status().Problem != c.err.Error() {
			t.Errorf("member %d: %q, want %q; its own page: %q", c.member, got, c.want, w.Status().Problem)
		}
	}
}

// TestMissingSettingsAreNamed: an unknown level names the known ones, and who leaves names a store.
func TestMissingSettingsAreNamed(t *testing.T) {
	if _, err := (LogConfig{Level: "trace"}).Threshold(); err == nil ||
		err.Error() != `"trace" is not debug, info, warn or error` {
		t.Errorf("level: %v", err)
	}
	plan := protocol.Bind(&protocol.Plan{})
	err := new(Config).Abort(plan, "withdrawn")
	if err == nil || err.Error() != "config: store_file is missing" {
		t.Errorf("abort: %v", err)
	}
}

// TestPolicy: without a person no plan is approved that claims a larger epsilon or delta than the policy
// allows, or that claims no epsilon under a policy that limits it.
func TestPolicy(t *testing.T) {
	table := func(noise protocol.Placement, epsilon, delta float64) *protocol.Plan {
		p := &protocol.Plan{Application: "table", Noise: noise, Epsilon: epsilon, Delta: delta}
		if noise != protocol.NoiseNone {
			p.Sensitivity = 1
		}
		return p
	}
	limited := Policy{Applications: []string{"table"}, Epsilon: 0.5, Delta: 1e-5}
	unlimited := Policy{Applications: []string{"table"}, Epsilon: math.Inf(1), Delta: 1e-5}
	for _, c := range []struct {
		name   string
		policy Policy
		plan   *protocol.Plan
		refuse string // "": approved
	}{
		{"within both limits", limited, table(protocol.NoiseParty, 0.5, 1e-5), ""},
		{"a larger epsilon", limited, table(protocol.NoiseParty, 0.6, 1e-5), "its epsilon is 0.6"},
		{"a larger delta", limited, table(protocol.NoiseParty, 0.5, 0.9), "its delta is 0.9"},
		{"no number", limited, table(protocol.NoiseParty, math.NaN(), 1e-5), "its epsilon is NaN"},
		{"exact tables", limited, table(protocol.NoiseNone, 0, 0), "it claims no epsilon"},
		{"exact tables, no limit", unlimited, table(protocol.NoiseNone, 0, 0), ""},
		{"a larger delta, no limit", unlimited, table(protocol.NoiseParty, 9, 0.9), "its delta is 0.9"},
		{"a larger delta of random reports", unlimited, table(protocol.NoiseShuffle, 9, 0.9), "its delta is 0.9"},
	} {
		err := c.policy.allows(c.plan)
		if (err == nil) != (c.refuse == "") || err != nil && !strings.Contains(err.Error(), c.refuse) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refuse)
		}
	}
}

// TestOutcomes: a served plan is over only if its session is. What is wrong with this site's own files, or
// with its clock, does not end it.
func TestOutcomes(t *testing.T) {
	fail := func(class protocol.Class, err error) error { return protocol.Fail(class, "%w", err) }
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name string
		err  error
		want outcome
	}{
		{"completed", nil, planOver},
		{"quorum lost", fail(protocol.ClassQuorum, wrong), planOver},
		{"aborted here", leftError("the study was withdrawn"), planOver},
		{"the plan has expired", fail(protocol.ClassIntegrity, protocol.ErrExpired), planOver},
		{"a successor runs", fail(protocol.ClassIntegrity, errGoneOn), planOver},
		{"no broker", fail(protocol.ClassTimeout, wrong), planRetried},
		{"a late clock", fail(protocol.ClassIntegrity, identity.ErrNotYetValid), planRetried},
		{"no data", fail(protocol.ClassInput, wrong), planRefused},
		{"no budget", fail(protocol.ClassBudget, wrong), planRefused},
		{"an old card", fail(protocol.ClassIntegrity, identity.ErrExpired), planRefused},
		{"another member's card", fail(protocol.ClassIntegrity, wrong), planRefused},
		{"a store that was taken over", fail(protocol.ClassIntegrity, wrong), planRefused},
	} {
		if got := outcomeOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestBlockedMemberEndsWithThePlan: a member that can't send ends when all others have left an expired plan,
// and no sooner.
func TestBlockedMemberEndsWithThePlan(t *testing.T) {
	plan := &protocol.Plan{NotAfter: 1_900_000_000, DeadlineMS: 5000, GraceMS: 1000}
	var b blockade
	since := time.Now()
	left := time.UnixMilli(plan.Leaves(since.UnixMilli()))
	late := left.Add(time.Hour)
	if b.overdue(plan, late) {
		t.Error("a member that can send is overdue")
	}
	for _, which := range []*time.Time{&b.full, &b.away} {
		b.note(which, true)
		b.note(which, true)
		if b.overdue(plan, left.Add(-time.Second)) || !b.overdue(plan, late) {
			t.Errorf("overdue before %s, or not after it", left)
		}
		b.note(which, false)
		if b.overdue(plan, late) {
			t.Error("a member that can send again is overdue")
		}
	}
}

// TestPreflightNamesItsOwnLimit: a preflight tries to reach the broker for less than timing.connect, and its
// error has the time that it tried.
func TestPreflightNamesItsOwnLimit(t *testing.T) {
	p := &preflight{config: &Config{Bus: BusConfig{URL: "nats://127.0.0.1:1"}}, limit: 200 * time.Millisecond}
	p.checkBroker(t.Context())
	if len(p.Checks) != 1 || !strings.Contains(p.Checks[0].Detail, "not reached within 200ms") {
		t.Errorf("%+v", p.Checks)
	}
}
