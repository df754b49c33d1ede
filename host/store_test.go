package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/protocol"
)

func openFile(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestStoresAgree applies the same transactions to the file store, the store in memory, a journal
// and a scoped store, and compares them with a map.
func TestStoresAgree(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		name := string(rune('a'+n%26)) + rapid.StringMatching(`[a-z]{12}`).Draw(t, "name")
		file, err := OpenFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		scoped := Scope(NewRam(), "plan/x/", "ledger/")
		journal := NewJournal(NewRam())
		stores := map[string]protocol.View{"file": file, "ram": NewRam(), "scoped": scoped, "journal": journal}
		oracle := map[string]string{}
		for range rapid.IntRange(1, 8).Draw(t, "transactions") {
			records := drawRecords(t)
			for name, s := range stores {
				if name == "journal" {
					journal.add(records)
					if rapid.Bool().Draw(t, "commit") {
						if err := commit(journal); err != nil {
							t.Fatal(err)
						}
					}
				} else if err := s.(Store).Apply(records); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range records {
				if r.Value == nil {
					delete(oracle, r.Key)
				} else {
					oracle[r.Key] = string(r.Value)
				}
			}
			for name, s := range stores {
				checkStore(t, name, s, oracle)
			}
		}
	})
}

var storeKeys = []string{"a/1", "a/2", "b", "ledger/1", "ledger/2", "plan"}

func drawRecords(t *rapid.T) (records []protocol.Record) {
	for range rapid.IntRange(1, 5).Draw(t, "records") {
		r := protocol.Record{Key: rapid.SampledFrom(storeKeys).Draw(t, "key")}
		if rapid.IntRange(0, 3).Draw(t, "delete") > 0 {
			r.Value = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value")...)
		}
		records = append(records, r)
	}
	return records
}

func checkStore(t *rapid.T, name string, s protocol.View, oracle map[string]string) {
	for _, k := range storeKeys {
		want, there := oracle[k]
		if got := s.Get(k); (got != nil) != there || string(got) != want {
			t.Fatalf("%s: %s is %q (%t), want %q (%t)", name, k, got, got != nil, want, there)
		}
	}
	for _, prefix := range []string{"a/", "ledger/", "b"} {
		var want []string
		for _, k := range storeKeys {
			if _, there := oracle[k]; there && len(k) >= len(prefix) && k[:len(prefix)] == prefix {
				want = append(want, k)
			}
		}
		if got := s.Keys(prefix); !slices.Equal(got, want) {
			t.Fatalf("%s: keys under %s are %v, want %v", name, prefix, got, want)
		}
	}
}

// TestFileStaysClosedToOthers checks that one process at a time can open a store, and that a store
// that other users may read is refused.
func TestFileStaysClosedToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f := openFile(t, path)
	if _, err := OpenFile(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second opening: %v, want ErrLocked", err)
	}
	if err := f.Apply([]protocol.Record{{Key: "k", Value: []byte{}}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path)
	if v := again.Get("k"); v == nil || len(v) != 0 {
		t.Errorf("an empty value came back as %v", v)
	}
	again.Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path); err == nil {
		t.Error("a store that others may read was opened")
	}
}

// TestScopesStayApart checks that two plans in one file share only the ledger.
func TestScopesStayApart(t *testing.T) {
	file := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	one, two := Scope(file, "plan/1/", "ledger/"), Scope(file, "plan/2/", "ledger/")
	records := []protocol.Record{
		{Key: "state", Value: []byte("1")},
		{Key: "ledger/0", Value: []byte("paid")},
	}
	if err := one.Apply(records); err != nil {
		t.Fatal(err)
	}
	if v := two.Get("state"); v != nil {
		t.Errorf("the second plan sees the first one's state %q", v)
	}
	if v := two.Get("ledger/0"); string(v) != "paid" {
		t.Errorf("the second plan's ledger is %q", v)
	}
}

// recorder is a store that keeps the transactions it was given.
type recorder struct {
	*Ram
	applied [][]protocol.Record
}

func (r *recorder) Apply(records []protocol.Record) error {
	r.applied = append(r.applied, slices.Clone(records))
	return r.Ram.Apply(records)
}

// TestOnlyLastRecordIsWritten checks that of several records of a key in one transaction only the
// last reaches the store, and that every key's last does.
func TestOnlyLastRecordIsWritten(t *testing.T) {
	store := &recorder{Ram: NewRam()}
	j := NewJournal(store)
	j.add([]protocol.Record{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}})
	j.add([]protocol.Record{{Key: "a"}, {Key: "c", Value: []byte("3")}, {Key: "b", Value: []byte("4")}})
	if err := commit(j); err != nil {
		t.Fatal(err)
	}
	j.add([]protocol.Record{{Key: "b"}})
	if err := commit(j); err != nil {
		t.Fatal(err)
	}
	want := [][]protocol.Record{
		{{Key: "a"}, {Key: "b", Value: []byte("4")}, {Key: "c", Value: []byte("3")}},
		{{Key: "b"}},
	}
	for i := range max(len(want), len(store.applied)) {
		if !slices.EqualFunc(store.applied[i], want[i], func(a, b protocol.Record) bool {
			return a.Key == b.Key && string(a.Value) == string(b.Value) && (a.Value == nil) == (b.Value == nil)
		}) {
			t.Errorf("transaction %d: %v, want %v", i, store.applied[i], want[i])
		}
	}
	if j.Get("a") != nil || j.Get("b") != nil || string(j.Get("c")) != "3" {
		t.Error("the journal has other records")
	}
}

// commit makes all pending records durable, as the driver does in two steps.
func commit(j *Journal) error {
	if err := j.apply(j.begin()); err != nil {
		return err
	}
	j.end()
	return nil
}
