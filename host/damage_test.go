package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/protocol"
)

// TestNoDamageIsSilent zeroes every block of a store's tree, and flips a bit in each: the store is
// refused, or every key has its value. A ledger whose keys were lost would otherwise be an empty one.
// The first two pages are bbolt's, which has a checksum on each and goes on with the other.
func TestNoDamageIsSilent(t *testing.T) {
	const block = 512
	path := filepath.Join(t.TempDir(), "a.db")
	f := openFile(t, path)
	want := map[string][]byte{}
	var records []protocol.Record
	for i := range 300 {
		key := fmt.Sprintf("ledger/%08d", i)
		want[key] = bytes.Repeat([]byte{byte(i), 1}, 20)
		records = append(records, protocol.Record{Key: key, Value: want[key]})
	}
	want["state"] = make([]byte, longValue)
	records = append(records, protocol.Record{Key: "state", Value: want["state"]})
	if err := f.Apply(records); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long, err := os.ReadFile(path + valuesSuffix)
	if err != nil {
		t.Fatal(err)
	}
	refused, accepted := 0, 0
	for at := 2 * os.Getpagesize(); at < len(whole); at += block {
		for _, zero := range []bool{true, false} {
			damaged := slices.Clone(whole)
			if zero {
				clear(damaged[at:min(at+block, len(damaged))])
			} else {
				damaged[at+at/block%block] ^= 4
			}
			if damage(t, fmt.Sprintf("at %d, zeroed %t", at, zero), damaged, long, want) {
				refused++
			} else {
				accepted++
			}
		}
	}
	both := slices.Clone(whole)
	for _, key := range []string{"ledger/00000100", "state"} {
		both[bytes.LastIndex(both, []byte(key))] ^= 4
	}
	if !damage(t, "in both buckets", both, long, want) {
		t.Error("damage in both buckets is accepted")
	}
	if refused < 10 || accepted == 0 {
		t.Errorf("%d damaged stores were refused, and %d with a damaged free page accepted", refused, accepted)
	}
}

// damage opens a damaged store, and reports whether it was refused.
func damage(t *testing.T, what string, tree, long []byte, want map[string][]byte) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.db")
	err := errors.Join(os.WriteFile(path, tree, 0o600), os.WriteFile(path+valuesSuffix, long, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path)
	if err != nil {
		if protocol.ClassOf(err) != protocol.ClassInput || !errors.Is(err, errDamaged) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
		return true
	}
	defer f.Close()
	keys := f.Keys("")
	if len(keys) != len(want) {
		t.Errorf("%s: %d keys of %d, and no error", what, len(keys), len(want))
		return false
	}
	for _, key := range keys {
		if !bytes.Equal(f.Get(key), want[key]) {
			t.Errorf("%s: %s has another value, and no error", what, key)
		}
	}
	return false
}

// TestStoreCopiedInPart: the tree without its file of values is refused with what to do.
func TestStoreCopiedInPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := openFile(t, path)
	if err := f.Apply([]protocol.Record{{Key: "state", Value: make([]byte, longValue)}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Remove(path+valuesSuffix)); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFile(path)
	if protocol.ClassOf(err) != protocol.ClassInput || !errors.Is(err, errApart) {
		t.Errorf("%v", err)
	}
}
