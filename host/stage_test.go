package host

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"choir/protocol"
	"choir/transport/memory"
)

// announced are values that a store began with, and what is to be run for it.
func announced(t *testing.T, f *File, n int) (records []protocol.Record, writes []func()) {
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	for i := range n {
		r := protocol.Record{Key: fmt.Sprintf("long/%d", i), Value: random(rng, longValue+8*i)}
		records = append(records, r)
		write := f.Stage(r.Value)
		if write == nil {
			t.Fatal("a long value isn't taken ahead")
		}
		writes = append(writes, write)
	}
	return records, writes
}

// whole holds a store to the records and to having each byte once: taken, waiting or
// free.
func whole(t *testing.T, f *File, records []protocol.Record) {
	t.Helper()
	for _, r := range records {
		if got := f.Get(r.Key); !bytes.Equal(got, r.Value) {
			t.Errorf("%s: %d bytes, not the %d that were stored", r.Key, len(got), len(r.Value))
		}
	}
	var used int64
	taken, err := f.used()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.ahead.values {
		if s.at.length > 0 {
			taken = append(taken, s.at)
		}
	}
	for _, p := range taken {
		used += p.extent().size
	}
	for _, e := range f.long.free {
		used += e.size
	}
	if used != f.long.end {
		t.Errorf("%d bytes are taken, waiting or free, of %d", used, f.long.end)
	}
}

// TestStagedValuesAreWrittenOnce: what was written ahead isn't written again with its
// transaction, and what wasn't yet is written then and not after.
func TestStagedValuesAreWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f := openFile(t, path)
	records, writes := announced(t, f, 4)
	writes[0]()
	writes[1]()
	end := f.long.end
	if err := f.Apply(records[:1]); err != nil {
		t.Fatal(err)
	}
	if f.long.end != end {
		t.Errorf("the file of values has grown from %d to %d bytes for a value that it had", end, f.long.end)
	}
	if err := f.Apply(records[1:3]); err != nil {
		t.Fatal(err)
	}
	end = f.long.end
	writes[2]()
	if f.long.end != end {
		t.Error("a value that is stored was written again")
	}
	whole(t, f, records[:3])
	writes[3]() // and the process dies
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFile(t, path)
	whole(t, f, records[:3])
	if f.Get(records[3].Key) != nil || len(f.Keys("")) != 3 {
		t.Error("a value is there that no transaction stored")
	}
}

// TestStagedForNothing: what no transaction stores makes room after a while, and what is
// too short, announced twice or too much isn't taken.
func TestStagedForNothing(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	records, writes := announced(t, f, 2)
	writes[0]()
	if f.Stage(records[0].Value) != nil || f.Stage(make([]byte, longValue-1)) != nil || f.Stage(nil) != nil {
		t.Error("a value is taken that needn't be")
	}
	f.ahead.bytes += stagedBytes
	if f.Stage(make([]byte, longValue)) != nil {
		t.Error("more waits than may")
	}
	f.ahead.bytes -= stagedBytes
	for i := range stagedFor + 1 {
		if err := f.Apply([]protocol.Record{{Key: "short", Value: []byte{byte(i)}}}); err != nil {
			t.Fatal(err)
		}
		whole(t, f, nil)
	}
	writes[1]()
	if len(f.ahead.values) != 0 || f.ahead.bytes != 0 || f.long.end != 0 {
		t.Errorf("%d values still wait, %d bytes are taken", len(f.ahead.values), f.long.end)
	}
	if err := f.Apply(records); err != nil {
		t.Fatal(err)
	}
	whole(t, f, records)
}

// TestStagedBesideTransactions: values are written ahead while others are stored and
// read.
func TestStagedBesideTransactions(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	records, writes := announced(t, f, 24)
	var group sync.WaitGroup
	for _, write := range writes {
		group.Go(write)
	}
	for i := range records {
		if err := f.Apply(records[i : i+1]); err != nil {
			t.Fatal(err)
		}
		f.Get(records[i].Key)
	}
	group.Wait()
	whole(t, f, records)
	if len(f.ahead.values) != 0 {
		t.Errorf("%d values still wait", len(f.ahead.values))
	}
}

// farSighted announces a value with its first message and stores it with its second.
type farSighted struct {
	value []byte
	heard int
}

func (m *farSighted) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	if _, ok := ev.(protocol.Delivery); !ok {
		return eff
	}
	if m.heard++; m.heard == 1 {
		eff.Ahead = [][]byte{m.value}
		return eff
	}
	eff.Put("value", m.value)
	eff.Finish(nil)
	return eff
}

// TestRunWritesAhead: the loop hands a machine's values to the store below a plan's part
// of it, and has ended all writing when it ends.
func TestRunWritesAhead(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	hub := memory.NewHub()
	numbers(t, hub, 2)
	m := &farSighted{value: bytes.Repeat([]byte{200, 1, 2, 3, 4, 5, 6}, longValue)}
	j := NewJournal(Scope(f, "plan/", "ledger/"))
	if err := Run(context.Background(), Config{Machine: m, Journal: j, Bus: hub.Connect("far"), Filters: []string{"n"}}); err != nil {
		t.Fatal(err)
	}
	whole(t, f, []protocol.Record{{Key: "plan/value", Value: m.value}})
	if len(f.ahead.values) != 0 || f.long.end != (int64(len(m.value))+align-1)/align*align {
		t.Errorf("%d values wait, %d bytes are taken by one of %d", len(f.ahead.values), f.long.end, len(m.value))
	}
}
