package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
)

// TestDamagedTree checks that opening a store whose tree is truncated or has a damaged page succeeds
// or returns errDamaged, and does not panic.
func TestDamagedTree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.db")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		r := protocol.Record{
			Key:   fmt.Sprintf("key/%d", i),
			Value: bytes.Repeat([]byte{byte(i)}, os.Getpagesize()/12),
		}
		if err := f.Apply([]protocol.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	open := func(what string, b []byte) (refused bool) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(path)
		if err == nil {
			if err := f.Close(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			return false
		}
		if protocol.ClassOf(err) != protocol.ClassInput || !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		return true
	}
	page := os.Getpagesize()
	for _, size := range []int{1, 100, page, 2 * page, 3 * page, 4 * page, 5*page + 7} {
		if size < len(whole) && !open(fmt.Sprintf("the first %d bytes of %d", size, len(whole)), whole[:size]) {
			t.Errorf("the first %d bytes of %d are accepted", size, len(whole))
		}
	}
	refused := 0
	for p := 2; (p+1)*page <= len(whole); p++ {
		damaged := bytes.Clone(whole)
		copy(damaged[p*page:], bytes.Repeat([]byte{0xa5}, 64))
		if open(fmt.Sprintf("page %d", p), damaged) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damaged page was noticed")
	}
	if !open("another file", bytes.Repeat([]byte("no store"), 4096)) || open("the whole", whole) {
		t.Error("another file is accepted, or the store is not")
	}
}

// TestStoreThatCannotBeMade checks that no file is left that a later start would refuse.
func TestStoreThatCannotBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a.db")
	if _, err := OpenFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// TestStoreOfAnotherIsLeftAlone starts two processes with one file. The second saw none, and finds it
// locked: the first one's store must stay.
func TestStoreOfAnotherIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	first, err := openTree(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := openOrMake(path, fs.ErrNotExist); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want %v", err, ErrLocked)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the first process's store: %v", err)
	}
}
