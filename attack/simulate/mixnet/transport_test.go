package mixnet

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/host"
	"choir/protocol"
	"choir/protocol/mix"
	"choir/session/run"
	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// pace is how much faster than real time the members' clocks run.
const pace = 10

// overTransports runs a test over the bus in memory and over NATS.
func overTransports(t *testing.T, test func(*testing.T, connector)) {
	t.Run("memory", func(t *testing.T) { test(t, run.InMemory) })
	t.Run("nats", func(t *testing.T) {
		server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Shutdown)
		test(t, func(s protocol.BoundPlan) run.Connect {
			return run.OverNATS(t.Context(), s, natsbus.Config{Server: server, Storage: natsbus.Memory})
		})
	})
}

// TestRowsOverTransports runs the table under package host, many sessions at a time.
func TestRowsOverTransports(t *testing.T) {
	rows := Rows()
	overTransports(t, func(t *testing.T, connect connector) {
		problems := make([][]string, len(rows))
		var group sync.WaitGroup
		slots := make(chan struct{}, 12)
		for i := range rows {
			if testing.Short() && i%21 != 2 {
				continue
			}
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				problems[i] = rows[i].try(connect, uint64(i))
			})
		}
		group.Wait()
		for i, row := range rows {
			for _, p := range problems[i] {
				t.Errorf("%s: %s: %s", row.Who, row.What, p)
			}
		}
	})
}

// connector gives each session its bus.
type connector func(protocol.BoundPlan) run.Connect

// try runs the row with a deadline that ends no wait, unless its session in one thread shows that it waits
// for deadlines. It then runs again with longer ones if it fails, since on a busy machine an honest member
// may have missed one.
func (r *Row) try(connect connector, seed uint64) []string {
	w, err := r.world(seed)
	if err != nil {
		return []string{err.Error()}
	}
	began := w.now
	if err := w.run(); err != nil {
		return []string{err.Error()}
	}
	if w.now == began {
		return r.live(connect, 2000+seed, time.Minute)
	}
	if len(r.live(connect, 2000+seed, 2*time.Second)) == 0 {
		return nil
	}
	return r.live(connect, 3000+seed, 15*time.Second)
}

// live runs the row's session, whose plan has a deadline in real time, and returns what differs from it.
func (r *Row) live(connect connector, seed uint64, deadline time.Duration) []string {
	w, err := r.world(seed)
	if err != nil {
		return []string{err.Error()}
	}
	l, err := newLive(w, connect, deadline)
	if err != nil {
		return []string{err.Error()}
	}
	defer l.close()
	l.run(3 * time.Minute)
	return r.judge(w)
}

// live is a session whose members run concurrently, each under package host.
type live struct {
	*world
	buses  []transport.Bus
	stores []*host.Ram
	older  []*host.Ram // copies of the stores from before round 2
}

func newLive(w *world, connect connector, deadline time.Duration) (*live, error) {
	p := *w.s.Plan
	now := time.Now().Unix()
	p.Created = now - 10
	p.NotAfter = pace * (now + 3600) // by the clock of the machines
	p.DeadlineMS = uint32(pace * deadline.Milliseconds())
	for i := range p.Members {
		p.Members[i].NotAfter = p.NotAfter
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w.s = protocol.Bind(&p)
	l := &live{world: w, older: make([]*host.Ram, len(w.members))}
	open := connect(w.s)
	for i := range w.members {
		bus, err := open(uint32(i))
		if err != nil {
			l.close()
			return nil, err
		}
		l.buses = append(l.buses, recorder{bus, w})
		l.stores = append(l.stores, host.NewRam())
	}
	return l, nil
}

func (l *live) close() {
	for _, b := range l.buses {
		_ = b.Close() // the session is over
	}
}

// run runs all members until those that are honest have ended.
func (l *live) run(most time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	var everyone, honest sync.WaitGroup
	for i, m := range l.members {
		member := func() {
			err := l.member(ctx, i)
			m.over = ctx.Err() == nil || err == nil
			m.end = err
		}
		if l.lies(m) {
			everyone.Go(member)
		} else {
			honest.Go(member)
		}
	}
	honest.Wait()
	cancel()
	everyone.Wait()
	for i, m := range l.members {
		for _, key := range l.stores[i].Keys("") {
			m.store[key] = l.stores[i].Get(key)
		}
	}
}

// member runs a member with its store.
func (l *live) member(ctx context.Context, i int) error {
	s := l.s
	batch := protocol.NewBatch(s, rand.Reader)
	s.Verifier = batch
	journal := host.NewJournal(l.stores[i])
	h := &hosted{l: l, i: i, cfg: mix.Config{Session: s, Rand: rand.Reader, View: journal, ResendMS: 1 << 40}}
	if err := h.start(); err != nil {
		return err
	}
	return host.Run(ctx, host.Config{Machine: h, Journal: journal, Bus: l.buses[i],
		Filters: s.MixFilters(uint32(i)), Prepare: batch.Prepare, Proposer: reporter(i)})
}

// recorder keeps what is published, before anybody can have received it.
type recorder struct {
	transport.Bus
	w *world
}

// Publish implements transport.Bus.
func (r recorder) Publish(ctx context.Context, messages ...transport.Message) error {
	for _, m := range messages {
		r.w.send(protocol.Outgoing{Subject: m.Subject, Data: bytes.Clone(m.Data)})
	}
	return r.Bus.Publish(ctx, messages...)
}

// reporter is a party's application.
type reporter int

// Propose implements protocol.Proposer.
func (r reporter) Propose(_ context.Context, w protocol.Work) ([]int64, []byte, error) {
	return report(int(r), w.Round), nil, nil
}

// hosted is a member's machine under package host, with what the cheat and the broker do.
type hosted struct {
	protocol.Machine
	l     *live
	i     int
	cfg   mix.Config
	again bool // it starts again with what it believes to have sent
}

func (h *hosted) start() (err error) {
	h.Machine, err = h.l.machine(h.i, h.cfg)
	return err
}

// Step implements protocol.Machine.
func (h *hosted) Step(now int64, ev protocol.Event) protocol.Effects {
	now *= pace
	var before protocol.Effects
	if h.again {
		if err := h.start(); err != nil {
			before.Finish(err)
			return before
		}
		before = h.Machine.Step(now, protocol.Start{})
	}
	if d, ok := ev.(protocol.Delivery); ok && h.l.hides(h.i, d.Data) {
		ev = protocol.Tick{}
	}
	eff := h.Machine.Step(now, ev)
	eff.Send = append(before.Send, eff.Send...)
	eff.Persist = append(before.Persist, eff.Persist...)
	eff.Notices = append(before.Notices, eff.Notices...)
	if eff.Propose == nil {
		eff.Propose = before.Propose
	}
	m := h.l.members[h.i]
	if h.l.lies(m) {
		h.l.now = now
		h.l.cheat.alter(&eff)
		h.again = h.l.cheat.believe()
		if h.again {
			eff.Wake = now
		}
	}
	m.notices = append(m.notices, eff.Notices...)
	for _, n := range eff.Notices {
		if n.Code == protocol.NoteRound && n.Round == 2 && h.l.older[h.i] == nil {
			h.l.older[h.i] = h.l.copied(h.i)
		}
	}
	if eff.Wake > 0 {
		eff.Wake = (eff.Wake + pace - 1) / pace
	}
	return eff
}

func (l *live) copied(i int) *host.Ram {
	older := host.NewRam()
	for _, key := range l.stores[i].Keys("") {
		_ = older.Apply([]protocol.Record{{Key: key, Value: l.stores[i].Get(key)}}) // it cannot fail
	}
	return older
}

// TestRollbackOverTransports: any member that starts again with a copy of its store from before round 2 reads
// its own later message on the bus, and stops.
func TestRollbackOverTransports(t *testing.T) {
	overTransports(t, func(t *testing.T, connect connector) {
		w, err := newWorld(4000)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLive(w, connect, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer l.close()
		l.run(2 * time.Minute)
		for i, m := range l.members {
			if !m.over || m.end != nil || l.older[i] == nil {
				t.Fatalf("%s: over %t, %v", m.name, m.over, m.end)
			}
			l.stores[i] = l.older[i]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := l.member(ctx, i)
			cancel()
			if protocol.ClassOf(err) != protocol.ClassIntegrity || !strings.Contains(err.Error(), "older copy") {
				t.Errorf("%s ended with %v", m.name, err)
			}
		}
	})
}
