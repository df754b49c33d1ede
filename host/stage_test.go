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

// stageValues announces n long values and returns their records and the functions that write
// them.
func stageValues(t *testing.T, f *File, n int) (records []protocol.Record, writes []func()) {
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	for i := range n {
		r := protocol.Record{Key: fmt.Sprintf("long/%d", i), Value: random(rng, longValue+8*i)}
		records = append(records, r)
		write := f.Stage(r.Value)
		if write == nil {
			t.Fatal("a long value is not staged")
		}
		writes = append(writes, write)
	}
	return records, writes
}

// checkWhole checks that a store has the records, and that each byte of its file of values is
// used once, staged or free.
func checkWhole(t *testing.T, f *File, records []protocol.Record) {
	t.Helper()
	for _, r := range records {
		if got := f.Get(r.Key); !bytes.Equal(got, r.Value) {
			t.Errorf("%s: %d bytes, want %d", r.Key, len(got), len(r.Value))
		}
	}
	used, err := f.used()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.ahead.values {
		if s.at.length > 0 {
			used = append(used, s.at)
		}
	}
	if got := size(f, used); got != f.long.end {
		t.Errorf("%d bytes are used, staged or free, of %d", got, f.long.end)
	}
}

// size is the total size of the places and of the free extents.
func size(f *File, places []place) (sum int64) {
	for _, p := range places {
		sum += p.extent().size
	}
	for _, e := range f.long.free {
		sum += e.size
	}
	return sum
}

// TestStagedValuesAreWrittenOnce checks that a value that was written ahead is not written again with
// its transaction, and that another is written then and not afterwards.
func TestStagedValuesAreWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f := openFile(t, path)
	records, writes := stageValues(t, f, 4)
	writes[0]()
	writes[1]()
	end := f.long.end
	if err := f.Apply(records[:1]); err != nil {
		t.Fatal(err)
	}
	if f.long.end != end {
		t.Errorf("the file of values has grown from %d to %d bytes for a staged value", end, f.long.end)
	}
	if err := f.Apply(records[1:3]); err != nil {
		t.Fatal(err)
	}
	end = f.long.end
	writes[2]()
	if f.long.end != end {
		t.Error("a stored value was written again")
	}
	checkWhole(t, f, records[:3])
	writes[3]() // and the process dies
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFile(t, path)
	checkWhole(t, f, records[:3])
	if f.Get(records[3].Key) != nil || len(f.Keys("")) != 3 {
		t.Error("there is a value that no transaction stored")
	}
}

// TestStagedForNothing checks that values that no transaction stores are given up after a while, and
// that values that are too short, announced twice or too many are not staged.
func TestStagedForNothing(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	records, writes := stageValues(t, f, 2)
	writes[0]()
	if f.Stage(records[0].Value) != nil || f.Stage(make([]byte, longValue-1)) != nil || f.Stage(nil) != nil {
		t.Error("a value is staged that need not be")
	}
	f.ahead.bytes += stagedBytes
	if f.Stage(make([]byte, longValue)) != nil {
		t.Error("more is staged than allowed")
	}
	f.ahead.bytes -= stagedBytes
	for i := range stagedFor + 1 {
		if err := f.Apply([]protocol.Record{{Key: "short", Value: []byte{byte(i)}}}); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, f, nil)
	}
	writes[1]()
	if len(f.ahead.values) != 0 || f.ahead.bytes != 0 || f.long.end != 0 {
		t.Errorf("%d values are still staged, %d bytes are used", len(f.ahead.values), f.long.end)
	}
	if err := f.Apply(records); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, records)
}

// TestStagedDuringTransactions writes values ahead while others are stored and read.
func TestStagedDuringTransactions(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	records, writes := stageValues(t, f, 24)
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
	checkWhole(t, f, records)
	if len(f.ahead.values) != 0 {
		t.Errorf("%d values are still staged", len(f.ahead.values))
	}
}

// farSighted announces a value with its first message and stores it with its second.
type farSighted struct {
	value    []byte
	received int
}

func (m *farSighted) Step(_ int64, ev protocol.Event) (eff protocol.Effects) {
	if _, ok := ev.(protocol.Delivery); !ok {
		return eff
	}
	if m.received++; m.received == 1 {
		eff.Ahead = [][]byte{m.value}
		return eff
	}
	eff.Put("value", m.value)
	eff.Finish(nil)
	return eff
}

// TestRunWritesAhead checks that the loop stages a machine's values in the store below a plan's part
// of it, and that all writes have ended when it ends.
func TestRunWritesAhead(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	hub := memory.NewHub()
	publishNumbers(t, hub, 2)
	m := &farSighted{value: bytes.Repeat([]byte{200, 1, 2, 3, 4, 5, 6}, longValue)}
	j := NewJournal(Scope(f, "plan/", "ledger/"))
	cfg := Config{Machine: m, Journal: j, Bus: hub.Connect("far"), Filters: []string{"n"}}
	if err := Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, []protocol.Record{{Key: "plan/value", Value: m.value}})
	if len(f.ahead.values) != 0 || f.long.end != (int64(len(m.value))+align-1)/align*align {
		t.Errorf("%d values are staged, %d bytes are used by one of %d",
			len(f.ahead.values), f.long.end, len(m.value))
	}
}
