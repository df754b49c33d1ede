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

// fullTree returns the file of a store with 40 keys.
func fullTree(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whole.db")
	f := openFile(t, path)
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
	return whole
}

// refuses opens a store with the given tree and reports whether it is refused as damaged. Any
// other error fails the test.
func refuses(t *testing.T, what string, tree []byte) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, tree, 0o600); err != nil {
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

// TestDamagedTree checks that opening a store whose tree is truncated or has a damaged page succeeds
// or returns errDamaged, and does not panic.
func TestDamagedTree(t *testing.T) {
	whole, page := fullTree(t), os.Getpagesize()
	for _, size := range []int{1, 100, page, 2 * page, 3 * page, 4 * page, 5*page + 7} {
		what := fmt.Sprintf("the first %d bytes of %d", size, len(whole))
		if size < len(whole) && !refuses(t, what, whole[:size]) {
			t.Errorf("%s are accepted", what)
		}
	}
	refused := 0
	for p := 2; (p+1)*page <= len(whole); p++ {
		damaged := bytes.Clone(whole)
		copy(damaged[p*page:], bytes.Repeat([]byte{0xa5}, 64))
		if refuses(t, fmt.Sprintf("page %d", p), damaged) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damaged page was noticed")
	}
	if !refuses(t, "another file", bytes.Repeat([]byte("no store"), 4096)) {
		t.Error("another file is accepted")
	}
	if refuses(t, "the whole", whole) {
		t.Error("the store is refused")
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
