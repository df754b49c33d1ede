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

// counter is a machine that stores every number it is sent and says, for some of them,
// how many it has. It is built anew from its view.
type counter struct {
	view  protocol.View
	every uint64 // it speaks at multiples of it
	until uint64 // it is done when it has so many
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
	key := fmt.Sprintf("n/%08d", n)
	if c.view.Get(key) != nil {
		return eff
	}
	c.have++
	eff.Put(key, d.Data)
	if n%c.every == 0 {
		eff.Emit("said", d.Data)
	}
	if c.have == c.until {
		eff.Finish(nil)
	}
	return eff
}

// disk is a store that can fail, and knows how often it was written to.
type disk struct {
	*Ram
	mu     sync.Mutex
	writes int
	fails  int // the write that fails, and all after it; 0: none
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

// strict is a bus that lets nothing pass whose number isn't on the disk.
type strict struct {
	transport.Bus
	disk *disk
	kill func() bool // asked before each message
	mu   sync.Mutex
	said []uint64
	bad  error
}

var errKilled = errors.New("killed")

func (b *strict) Publish(_ context.Context, msgs ...transport.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range msgs {
		if b.kill() {
			return errKilled
		}
		n := binary.BigEndian.Uint64(m.Data)
		if b.disk.Get(fmt.Sprintf("n/%08d", n)) == nil {
			b.bad = fmt.Errorf("%d left before it was stored", n)
		}
		b.said = append(b.said, n)
	}
	return nil
}

func numbers(t *testing.T, hub *memory.Hub, n uint64) {
	t.Helper()
	for i := range n {
		if err := hub.Connect("source").Publish(t.Context(), transport.Message{Subject: "n", Data: binary.BigEndian.AppendUint64(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingLeavesBeforeItIsStored: whatever the moment at which a process dies, what
// left was stored, in order, nothing is missed, and a new life needs no more than the
// rest.
func TestNothingLeavesBeforeItIsStored(t *testing.T) {
	const total, lives = 400, 500
	for seed := range byte(20) {
		rng := rand.New(rand.NewChaCha8([32]byte{seed}))
		hub := memory.NewHub()
		numbers(t, hub, total)
		d := &disk{Ram: NewRam()}
		every := rng.Uint64N(20) + 1
		b := &strict{Bus: hub.Connect("counter"), disk: d, kill: func() bool { return rng.IntN(10) == 0 }}
		var err error
		life := 0
		for ; life < lives; life++ {
			j := NewJournal(d)
			if err = Run(t.Context(), Config{Machine: newCounter(j, every, total), Journal: j, Bus: b, Filters: []string{"n"}}); err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		if err != nil || b.bad != nil {
			t.Fatalf("seed %d: %v, %v after %d lives", seed, err, b.bad, life)
		}
		if got := len(d.Keys("n/")); got != total {
			t.Errorf("seed %d: %d numbers are stored, want %d", seed, got, total)
		}
		for i := 1; i < len(b.said); i++ {
			if b.said[i] <= b.said[i-1] {
				t.Errorf("seed %d: %d was said after %d", seed, b.said[i], b.said[i-1])
			}
		}
	}
}

// TestRecordsWaitForCompany: records that nothing follows from share a transaction.
func TestRecordsWaitForCompany(t *testing.T) {
	const total = 10 * maxBatch
	hub := memory.NewHub()
	numbers(t, hub, total)
	d := &disk{Ram: NewRam()}
	b := &strict{Bus: hub.Connect("counter"), disk: d, kill: func() bool { return false }}
	j, began := NewJournal(d), time.Now()
	if err := Run(t.Context(), Config{Machine: newCounter(j, 2*total, total), Journal: j, Bus: b, Filters: []string{"n"}}); err != nil {
		t.Fatal(err)
	}
	// 0 is said, which takes a transaction; the rest waits for the end, or not that long.
	most := 2 + int(time.Since(began)/maxDelay)
	if got := len(d.Keys("n/")); got != total || d.writes > most || len(b.said) != 1 {
		t.Errorf("%d records in %d transactions, %d said; want %d in at most %d, and 1", got, d.writes, len(b.said), total, most)
	}
}

// TestNothingIsStoredBehindAGap: after a transaction that failed no later one is tried, and
// nothing leaves.
func TestNothingIsStoredBehindAGap(t *testing.T) {
	for fails := 1; fails < 6; fails++ {
		hub := memory.NewHub()
		d := &disk{Ram: NewRam(), fails: fails}
		b := &strict{Bus: hub.Connect("counter"), disk: d, kill: func() bool { return false }}
		j := NewJournal(d)
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for i := uint64(0); ctx.Err() == nil; i++ {
				_ = hub.Connect("source").Publish(ctx, transport.Message{Subject: "n", Data: binary.BigEndian.AppendUint64(nil, i)})
				time.Sleep(50 * time.Microsecond) // batches, not one
			}
		}()
		err := Run(ctx, Config{Machine: newCounter(j, 1, 1<<40), Journal: j, Bus: b, Filters: []string{"n"}})
		cancel()
		<-ended
		if !errors.Is(err, errDisk) || d.writes != fails || b.bad != nil {
			t.Errorf("write %d fails: %v, %d writes, %v", fails, err, d.writes, b.bad)
		}
	}
}

// TestNoRecordWaitsForEver: a batch is due once its oldest record has waited long enough,
// or too much waits, or the machine is done, but not while the flight before it lasts.
func TestNoRecordWaitsForEver(t *testing.T) {
	long := time.Now().Add(-maxDelay)
	for _, c := range []struct {
		name string
		d    *driver
		want bool
	}{
		{"nothing waits", &driver{}, false},
		{"it came now", &driver{Config: Config{Gather: 10}, batch: batch{since: time.Now(), stored: 10}}, false},
		{"it came long ago", &driver{batch: batch{since: long}}, true},
		{"there is a flight", &driver{batch: batch{since: long}, transaction: new(transaction)}, false},
		{"too much", &driver{Config: Config{Gather: 10}, batch: batch{since: time.Now(), stored: 11}}, true},
		{"done", &driver{batch: batch{since: time.Now()}, done: true}, true},
		{"done without records", &driver{done: true}, false},
		{"a message", &driver{batch: batch{out: make([]transport.Message, 1)}}, true},
		{"an update under way", &driver{batch: batch{soon: true}}, true},
	} {
		if got := c.d.due(); got != c.want {
			t.Errorf("%s: due is %t", c.name, got)
		}
	}
}

// TestAStoppedRunKeepsWhatItHas: what waits for company is stored when the run is ended.
func TestAStoppedRunKeepsWhatItHas(t *testing.T) {
	hub := memory.NewHub()
	numbers(t, hub, 100)
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
	if err := Run(ctx, Config{Machine: watched, Journal: j, Bus: hub.Connect("counter"), Filters: []string{"n"}}); !errors.Is(err, context.Canceled) {
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

// restless asks for a tick every millisecond, as roles do that say things again.
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

// TestIdleIsWhenNothingComes: a role that nobody answers ends, however often it says
// something; one that computes isn't idle.
func TestIdleIsWhenNothingComes(t *testing.T) {
	run := func(m *restless) error {
		j := NewJournal(NewRam())
		return Run(t.Context(), Config{Machine: m, Journal: j, Bus: memory.NewHub().Connect("m"), Filters: []string{"n"},
			Proposer: slow(300 * time.Millisecond), IdleTimeout: 100 * time.Millisecond})
	}
	if err := run(&restless{}); protocol.ClassOf(err) != protocol.ClassTimeout {
		t.Errorf("nobody answers: %v", err)
	}
	if err := run(&restless{proposes: true}); err != nil {
		t.Errorf("it computes: %v", err)
	}
}
