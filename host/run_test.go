package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
)

// counter is a machine that stores every number it receives and sends some of them. It can be
// rebuilt from its view.
type counter struct {
	view  protocol.View
	every uint64 // it sends the multiples of this
	until uint64 // it is done when it has this many
	have  uint64
}

func newCounter(view protocol.View, every, until uint64) *counter {
	return &counter{view, every, until, uint64(len(view.Keys("n/")))}
}

func (c *counter) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	d, ok := ev.(protocol.Delivery)
	if !ok {
		if c.have == c.until {
			eff.Finish(nil)
		}
		return eff
	}
	n := binary.BigEndian.Uint64(d.Data)
	if c.view.Get(numberKey(n)) != nil {
		return eff
	}
	c.have++
	eff.Put(numberKey(n), d.Data)
	if n%c.every == 0 {
		eff.Emit("sent", d.Data)
	}
	if c.have == c.until {
		eff.Finish(nil)
	}
	return eff
}

func numberKey(n uint64) string { return fmt.Sprintf("n/%08d", n) }

// disk is a store that can fail and counts its transactions.
type disk struct {
	*Ram
	mu     sync.Mutex
	writes int
	fails  int // the first transaction that fails; all after it fail as well; 0: none
}

var errDisk = errors.New("the disk is full")

func (s *disk) Apply(records []protocol.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes++; s.fails > 0 && s.writes >= s.fails {
		return errDisk
	}
	return s.Ram.Apply(records)
}

// strict is a bus that checks that the numbers published through it are on the disk.
type strict struct {
	transport.Bus
	disk *disk
	kill func() bool // asked before each message; nil: never
	mu   sync.Mutex
	sent []uint64
	bad  error
}

var errKilled = errors.New("killed")

func (b *strict) Publish(_ context.Context, msgs ...transport.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range msgs {
		if b.kill != nil && b.kill() {
			return errKilled
		}
		n := binary.BigEndian.Uint64(m.Data)
		if b.disk.Get(numberKey(n)) == nil {
			b.bad = fmt.Errorf("%d left before it was stored", n)
		}
		b.sent = append(b.sent, n)
	}
	return nil
}

func number(n uint64) transport.Message {
	return transport.Message{Subject: "n", Data: binary.BigEndian.AppendUint64(nil, n)}
}

// publishNumbers publishes the numbers below n.
func publishNumbers(t *testing.T, hub *memory.Hub, n uint64) {
	t.Helper()
	for i := range n {
		if err := hub.Connect("source").Publish(t.Context(), number(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// runCounter runs a counter from its store.
func runCounter(ctx context.Context, d *disk, b transport.Bus, every, until uint64) error {
	j := NewJournal(d)
	machine := newCounter(j, every, until)
	return Run(ctx, Config{Machine: machine, Journal: j, Bus: b, Filters: []string{"n"}})
}

// TestNothingLeavesBeforeItIsStored kills a process at many moments. All numbers that left were
// stored, in order, none is missing, and a restarted process only continues.
func TestNothingLeavesBeforeItIsStored(t *testing.T) {
	const total, restarts = 400, 500
	for seed := range byte(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewChaCha8([32]byte{seed}))
			hub := memory.NewHub()
			publishNumbers(t, hub, total)
			d := &disk{Ram: NewRam()}
			every := rng.Uint64N(20) + 1
			b := &strict{Bus: hub.Connect("counter"), disk: d, kill: func() bool { return rng.IntN(10) == 0 }}
			err := errKilled
			for n := 0; n < restarts && errors.Is(err, errKilled); n++ {
				err = runCounter(t.Context(), d, b, every, total)
			}
			if err != nil || b.bad != nil {
				t.Fatalf("%v, %v", err, b.bad)
			}
			if got := len(d.Keys("n/")); got != total {
				t.Errorf("%d numbers are stored, want %d", got, total)
			}
			for i := 1; i < len(b.sent); i++ {
				if b.sent[i] <= b.sent[i-1] {
					t.Errorf("%d was sent after %d", b.sent[i], b.sent[i-1])
				}
			}
		})
	}
}

// TestRecordsShareATransaction checks records on which no message depends.
func TestRecordsShareATransaction(t *testing.T) {
	const total = 10 * maxBatch
	hub := memory.NewHub()
	publishNumbers(t, hub, total)
	d := &disk{Ram: NewRam()}
	b := &strict{Bus: hub.Connect("counter"), disk: d}
	began := time.Now()
	if err := runCounter(t.Context(), d, b, 2*total, total); err != nil {
		t.Fatal(err)
	}
	// One transaction for 0, which is sent; one for the rest, or more on a slow machine.
	most := 2 + int(time.Since(began)/maxDelay)
	if got := len(d.Keys("n/")); got != total || d.writes > most || len(b.sent) != 1 {
		t.Errorf("%d records in %d transactions, %d sent; want %d in at most %d, and 1",
			got, d.writes, len(b.sent), total, most)
	}
}

// TestNothingIsStoredAfterAGap checks that after a failed transaction no other is tried, and
// nothing leaves.
func TestNothingIsStoredAfterAGap(t *testing.T) {
	for fails := 1; fails < 6; fails++ {
		t.Run(fmt.Sprint("transaction ", fails), func(t *testing.T) {
			hub := memory.NewHub()
			d := &disk{Ram: NewRam(), fails: fails}
			b := &strict{Bus: hub.Connect("counter"), disk: d}
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for i := uint64(0); ctx.Err() == nil; i++ {
					_ = hub.Connect("source").Publish(ctx, number(i))
					time.Sleep(50 * time.Microsecond) // for several batches
				}
			}()
			err := runCounter(ctx, d, b, 1, 1<<40)
			cancel()
			<-ended
			if !errors.Is(err, errDisk) || d.writes != fails || b.bad != nil {
				t.Errorf("%v, %d writes, %v", err, d.writes, b.bad)
			}
		})
	}
}

// TestDue checks that a batch is due when its oldest record has waited long enough, when too much
// waits or when the machine is done, but not during a transaction.
func TestDue(t *testing.T) {
	long := time.Now().Add(-maxDelay)
	for _, c := range []struct {
		name string
		d    *driver
		want bool
	}{
		{"no record", &driver{}, false},
		{
			"a new record",
			&driver{Config: Config{Gather: 10}, batch: batch{since: time.Now(), stored: 10}},
			false,
		},
		{"an old record", &driver{batch: batch{since: long}}, true},
		{
			"an old record during a transaction",
			&driver{batch: batch{since: long}, transaction: new(transaction)},
			false,
		},
		{
			"too much",
			&driver{Config: Config{Gather: 10}, batch: batch{since: time.Now(), stored: 11}},
			true,
		},
		{"done", &driver{batch: batch{since: time.Now()}, done: true}, true},
		{"done without records", &driver{done: true}, false},
		{"a message", &driver{batch: batch{out: make([]transport.Message, 1)}}, true},
		{"an update being computed", &driver{batch: batch{soon: true}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.d.due(); got != c.want {
				t.Errorf("due is %t, want %t", got, c.want)
			}
		})
	}
}

// TestStoppedRunStoresItsRecords checks that waiting records are stored when a run is cancelled.
func TestStoppedRunStoresItsRecords(t *testing.T) {
	hub := memory.NewHub()
	publishNumbers(t, hub, 100)
	d := &disk{Ram: NewRam()}
	j := NewJournal(d)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newCounter(j, 1<<20, 1<<20)
	watched := watchedMachine{m, func() {
		if m.have == 100 {
			cancel()
		}
	}}
	err := Run(ctx, Config{Machine: watched, Journal: j, Bus: hub.Connect("counter"), Filters: []string{"n"}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := len(d.Keys("n/")); got != 100 {
		t.Errorf("%d of 100 are stored", got)
	}
}

type watchedMachine struct {
	protocol.Machine
	after func()
}

func (w watchedMachine) Step(now int64, ev protocol.Event) protocol.Effects {
	defer w.after()
	return w.Machine.Step(now, ev)
}

// restless asks for a tick every millisecond, as roles do that retransmit.
type restless struct{ proposes bool }

func (r *restless) Step(now int64, ev protocol.Event) (eff protocol.Effects) {
	eff.Wake = now + 1
	switch ev.(type) {
	case protocol.Start:
		if r.proposes {
			eff.Propose = &protocol.Work{Round: 1}
		}
	case protocol.Proposal:
		eff.Finish(nil)
	}
	return eff
}

// slow answers after a while.
type slow time.Duration

func (s slow) Propose(context.Context, protocol.Work) ([]int64, []byte, error) {
	time.Sleep(time.Duration(s))
	return nil, nil, nil
}

// TestIdleTimeout checks that a role that receives nothing ends, however often it retransmits,
// and that one that computes an update is not idle.
func TestIdleTimeout(t *testing.T) {
	run := func(m *restless) error {
		j := NewJournal(NewRam())
		return Run(t.Context(), Config{
			Machine:     m,
			Journal:     j,
			Bus:         memory.NewHub().Connect("m"),
			Filters:     []string{"n"},
			Proposer:    slow(300 * time.Millisecond),
			IdleTimeout: 100 * time.Millisecond,
		})
	}
	if err := run(&restless{}); protocol.ClassOf(err) != protocol.ClassTimeout {
		t.Errorf("nothing arrives: %v", err)
	}
	if err := run(&restless{proposes: true}); err != nil {
		t.Errorf("it computes: %v", err)
	}
}

// caught counts what a machine is given before it hears that it has caught up.
type caught struct {
	before, after int
	told          int
	behind        bool
	until         int
}

func (c *caught) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	switch ev := ev.(type) {
	case protocol.Start:
		c.behind = ev.Behind
	case protocol.CaughtUp:
		c.told++
	case protocol.Delivery:
		if c.told == 0 {
			c.before++
		} else {
			c.after++
		}
	}
	if c.before+c.after == c.until && c.told > 0 {
		eff.Finish(nil)
	}
	return eff
}

// TestCaughtUp: a machine hears once, and after all that the bus had stored, that it has caught up.
func TestCaughtUp(t *testing.T) {
	for _, stored := range []uint64{0, 1, 3000} {
		t.Run(fmt.Sprint(stored), func(t *testing.T) {
			hub := memory.NewHub()
			publishNumbers(t, hub, stored)
			c := &caught{until: int(stored)}
			err := Run(t.Context(), Config{Machine: c, Journal: NewJournal(NewRam()), Bus: hub.Connect("c"),
				Filters: []string{"n"}})
			if err != nil || !c.behind || c.told != 1 || c.before != int(stored) {
				t.Errorf("%v; behind %t, told %d times, after %d of %d messages", err, c.behind, c.told, c.before,
					stored)
			}
		})
	}
}

// lastStraw stores every number and fails at one.
type lastStraw struct{ at uint64 }

func (l lastStraw) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	d, ok := ev.(protocol.Delivery)
	if !ok {
		return eff
	}
	n := binary.BigEndian.Uint64(d.Data)
	if n == l.at {
		eff.Finish(errors.New("the last straw"))
		return eff
	}
	eff.Put(numberKey(n), d.Data)
	return eff
}

// TestFailsAgain: a message on which the machine fails is delivered again at the next start, though those
// before it, of the same transaction, are not.
func TestFailsAgain(t *testing.T) {
	hub, store := memory.NewHub(), NewRam()
	publishNumbers(t, hub, 5)
	for start := range 3 {
		err := Run(t.Context(), Config{Machine: lastStraw{4}, Journal: NewJournal(store),
			Bus: hub.Connect("counter"), Filters: []string{"n"}, IdleTimeout: 5 * time.Second})
		if err == nil || err.Error() != "the last straw" {
			t.Fatalf("start %d ended with %v", start, err)
		}
		if n := len(store.Keys("n/")); n != 4 {
			t.Errorf("%d numbers are stored, want 4", n)
		}
	}
}
