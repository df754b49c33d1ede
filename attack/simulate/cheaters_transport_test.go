package simulate

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/aggregator"
	"choir/compute"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestCheatersOverTransports runs every row again, under package host, with
// real keys and channels, over the bus in memory and over NATS. Rows whose end
// depends on time wait for it concurrently.
func TestCheatersOverTransports(t *testing.T) {
	rows := cheaters()
	if len(rows) < wantCheaters {
		t.Fatalf("%d rows, want at least %d", len(rows), wantCheaters)
	}
	rows = slices.Concat(rows, coalitions, moreRows)
	if testing.Short() { // a sample: sessions that a cheat stops end by the clock
		rows = sample(rows, 20)
	}
	for _, backend := range []string{"memory", "nats"} {
		t.Run(backend, func(t *testing.T) {
			ran := overTransport(t, backend, rows)
			if ran != len(rows) || ran < 6 {
				t.Errorf("%d rows ran over %s, want %d", ran, backend, len(rows))
			}
		})
	}
}

// sample is every n-th row.
func sample(rows []cheater, n int) (some []cheater) {
	for i := 0; i < len(rows); i += n {
		some = append(some, rows[i])
	}
	return some
}

// overTransport runs the rows, many at a time, and judges them in order. A row
// that fails runs again, alone and with slower clocks: on a busy machine an honest
// member may have missed a deadline.
func overTransport(t *testing.T, backend string, rows []cheater) (ran int) {
	connect := connector(t, backend)
	problems := make([][]string, len(rows))
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i, row := range rows {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			problems[i], _ = row.tryLive(connect, liveTimes)
		})
	}
	group.Wait()
	for i, row := range rows {
		t.Run(row.who+": "+row.what, func(t *testing.T) {
			ran++
			if len(problems[i]) == 0 {
				return
			}
			t.Logf("once more, because of %v", problems[i])
			again, o := row.tryLive(connect, liveTimes.times(3))
			if len(again) > 0 {
				t.Errorf("%v\n%s", again, o)
			}
		})
	}
	return ran
}

func (row cheater) tryLive(connect connect, c clocks) ([]string, *outcome) {
	o, err := row.live(connect, c)
	if err != nil {
		return []string{err.Error()}, o
	}
	return row.judge(row.table(), o), o
}

// connect gives a session's members their connections.
type connect func(s protocol.BoundPlan) func(member uint32) (transport.Bus, error)

// connector gives each session its bus.
func connector(t *testing.T, backend string) connect {
	if backend == "memory" {
		return func(s protocol.BoundPlan) func(uint32) (transport.Bus, error) {
			hub := memory.NewHub()
			return func(i uint32) (transport.Bus, error) { return hub.Connect(s.Name(i)), nil }
		}
	}
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Shutdown() })
	return func(s protocol.BoundPlan) func(uint32) (transport.Bus, error) {
		return func(i uint32) (transport.Bus, error) {
			b, err := natsbus.Open(context.Background(),
				natsbus.Config{Server: server, Plan: s.ID.Short(), Name: s.Name(i), Storage: natsbus.Memory})
			if err != nil {
				return nil, err
			}
			return b, b.EnsureStream(context.Background())
		}
	}
}

// clocks are the times of a live session, in milliseconds: long enough that on
// an idle machine only a cheat's silence ends a wait.
type clocks struct{ deadline, resend, giveUp int64 }

var liveTimes = clocks{deadline: 1500, resend: 300, giveUp: 5000}

func (c clocks) times(n int64) clocks { return clocks{n * c.deadline, n * c.resend, n * c.giveUp} }

// liveSession is the table's plan with real keys.
func (row cheater) liveSession(c clocks) (protocol.BoundPlan, []*identity.PrivateKey, error) {
	s, _, err := row.table().session()
	if err != nil {
		return s, nil, err
	}
	p := *s.Plan
	now := time.Now().Unix()
	p.Created, p.NotAfter, p.DeadlineMS, p.GraceMS = now-10, now+600, uint32(c.deadline), 100
	p.Members = append([]protocol.Member(nil), p.Members...)
	keys := make([]*identity.PrivateKey, len(p.Members))
	for i := range p.Members {
		if keys[i], err = identity.Generate(rand.Reader); err != nil {
			return s, nil, err
		}
		p.Members[i].Key, p.Members[i].NotAfter = keys[i].Public(), p.NotAfter
	}
	return protocol.Bind(&p), keys, p.Validate()
}

// live runs a row with one goroutine for each member, until all members that the
// row judges have ended.
func (row cheater) live(connect connect, c clocks) (*outcome, error) {
	s, keys, err := row.liveSession(c)
	if err != nil {
		return nil, err
	}
	bus, o := connect(s), newOutcome()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	stores, versions := make([]*host.Ram, len(keys)), newSides()
	var all, judged sync.WaitGroup
	for i := range keys {
		b, err := bus(uint32(i))
		if err != nil {
			return nil, err
		}
		defer b.Close()
		name := s.Name(uint32(i))
		waited := !row.lies(name) && (row.comes.of == "none" || strings.HasPrefix(name, row.comes.of))
		stores[i] = host.NewRam()
		if waited && row.comes.of != "none" {
			judged.Add(1)
		}
		all.Go(func() {
			err := row.member(ctx, s, uint32(i), keys[i], stores[i], b, o, c, versions)
			if !errors.Is(err, context.Canceled) {
				o.mu.Lock()
				o.ends[name] = err
				o.mu.Unlock()
			}
			if waited && row.comes.of != "none" {
				judged.Done()
			}
		})
	}
	judged.Wait()
	row.linger(o)
	cancel()
	all.Wait()
	for i := range keys {
		o.models[s.Name(uint32(i))], _ = protocol.UnpackInts(stores[i].Get("model"))
	}
	return o, nil
}

// linger waits for the refusals and the settled sets, which may come after the
// ends. It gives up without an error; judge reports what is missing.
func (row cheater) linger(o *outcome) {
	culprit := row.culprit()
	for range 3000 { // a minute, far beyond what a busy machine needs
		o.mu.Lock()
		seen := (row.comes.refused == nil ||
			o.refused(row.comes.by, culprit, row.comes.refused)) && len(o.results("c1")) >= len(row.comes.sets)
		o.mu.Unlock()
		if seen {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (row cheater) member(ctx context.Context, s protocol.BoundPlan, i uint32, key *identity.PrivateKey,
	store host.Store, bus transport.Bus, o *outcome, c clocks, versions *sides) error {
	journal, name := host.NewJournal(store), s.Name(i)
	app := liveApp{Setup{Parties: s.Plan.Parties(), Dim: int(s.Plan.Dim), Paired: s.Plan.Paired}.app(), i}
	m, err := liveMachine(s, i, key, journal, app, c)
	if err != nil {
		return err
	}
	if !row.lies(name) {
		m = row.behind(m, name, versions)
	}
	for _, liar := range row.liars() {
		if name == liar.who {
			m = &cheat{Machine: m, s: s, key: key, self: i, view: journal, stored: map[string][]byte{},
				change: liar.does, deaf: liar.deaf, sides: versions}
		}
	}
	return host.Run(ctx, host.Config{Machine: m, Journal: journal, Bus: bus, Filters: s.Filters(i),
		Proposer: app,
		Notify:   func(n protocol.Notice) { o.notice(name, n) }})
}

func liveMachine(s protocol.BoundPlan, i uint32, key *identity.PrivateKey, view protocol.View, app liveApp,
	c clocks) (protocol.Machine, error) {
	switch s.Plan.Members[i].Role {
	case protocol.RoleParty:
		return party.New(party.Config{Session: s, Key: key, App: app, Ledger: &account{free: true},
			Rand: rand.Reader, View: view, ResendMS: c.resend})
	case protocol.RoleCompute:
		return compute.New(compute.Config{Session: s, Key: key, Rand: rand.Reader, View: view, ResendMS: c.resend})
	}
	return aggregator.New(aggregator.Config{Session: s, Key: key, Model: app, Rand: rand.Reader, View: view,
		ResendMS: c.resend, GiveUpMS: c.giveUp})
}

// liveApp is the toy application as package host asks for updates.
type liveApp struct {
	toy
	party uint32
}

// Propose implements protocol.Proposer.
func (a liveApp) Propose(_ context.Context, w protocol.Work) ([]int64, []byte, error) {
	u := a.update(a.party, w)
	return u, protocol.AppendInts(nil, u), nil
}
