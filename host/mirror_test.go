package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/protocol"
)

func set(key string, value []byte) []protocol.Record {
	return []protocol.Record{{Key: key, Value: value}}
}

func mustOpen(t *testing.T, path string) Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, class protocol.Class, want string) {
	t.Helper()
	if protocol.ClassOf(err) != class || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// same compares two stores but for their marks.
func same(t *testing.T, a, b protocol.View) {
	t.Helper()
	keys := a.Keys("")
	if len(keys) != len(b.Keys("")) || len(keys) < 2 {
		t.Errorf("keys %v and %v", keys, b.Keys(""))
	}
	for _, key := range keys {
		if key != markKey && !bytes.Equal(a.Get(key), b.Get(key)) {
			t.Errorf("%s: %d and %d bytes", key, len(a.Get(key)), len(b.Get(key)))
		}
	}
}

// TestMirror: a machine is lost with its store; the mirror has everything, and once it is taken over the
// first store never opens again, though its file comes back.
func TestMirror(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db"), filepath.Join(dir, "c.db")
	long := bytes.Repeat([]byte("long"), longValue)
	s := mustOpen(t, a)
	must(t, s.Apply(set("before", long)), s.Close(), Mirror(a, b))
	s = mustOpen(t, a)
	must(t, s.Apply(set("x", []byte("1"))), s.Apply(set("long", long)), s.Apply(set("before", nil)))
	if _, err := OpenFile(b); !errors.Is(err, ErrLocked) {
		t.Errorf("the mirror of a store that is open: %v", err)
	}
	if err := TakeOver(b); !errors.Is(err, ErrLocked) {
		t.Errorf("taking it over meanwhile: %v", err)
	}
	both := s.(*mirrored)
	same(t, both.File, both.second)
	must(t, s.Close())
	_, err := Open(b)
	refused(t, err, protocol.ClassInput, "is the mirror of")
	must(t, TakeOver(b))
	_, err = Open(a)
	refused(t, err, protocol.ClassIntegrity, "was taken over")
	refused(t, Mirror(a, c), protocol.ClassIntegrity, "was taken over")
	refused(t, TakeOver(b), protocol.ClassInput, "is not a mirror")
	s = mustOpen(t, b)
	if string(s.Get("x")) != "1" || !bytes.Equal(s.Get("long"), long) || s.Get("before") != nil {
		t.Error("the mirror lacks something")
	}
	must(t, s.Close(), Mirror(b, c))
	s = mustOpen(t, b)
	must(t, s.Apply(set("x", []byte("2"))), s.Close())
	_, err = Open(a)
	refused(t, err, protocol.ClassIntegrity, "was taken over")
}

// TestMirrorIsNeeded: without its mirror a store doesn't open and keeps nothing.
func TestMirrorIsNeeded(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	s := mustOpen(t, a)
	must(t, s.Apply(set("x", []byte("1"))), s.Close(), Mirror(a, b))
	refused(t, Mirror(a, b), protocol.ClassInput, "exists already")
	s = mustOpen(t, a)
	must(t, s.(*mirrored).second.Close())
	if err := s.Apply(set("x", []byte("2"))); err == nil || string(s.Get("x")) != "1" {
		t.Errorf("stored without the mirror: %v, %s", err, s.Get("x"))
	}
	must(t, s.(*mirrored).File.Close(), os.Rename(b, b+".away"))
	_, err := Open(a)
	refused(t, err, protocol.ClassInput, "can't be reached")
	if _, err := os.Stat(b); !os.IsNotExist(err) {
		t.Error("another mirror was made in its place")
	}
}

// TestMirrorAfterCrash: whichever of the two has a transaction more, both have it after the next opening.
func TestMirrorAfterCrash(t *testing.T) {
	for _, ahead := range []string{"mirror", "store"} {
		t.Run(ahead, func(t *testing.T) {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
			s := mustOpen(t, a)
			must(t, s.Apply(set("x", []byte("1"))), s.Apply(set("gone", []byte("1"))), s.Close(), Mirror(a, b))
			path := map[string]string{"mirror": b, "store": a}[ahead]
			f, err := OpenFile(path)
			must(t, err)
			m, err := markOf(f)
			must(t, err)
			m.transactions++
			must(t, f.Apply(append(set("x", []byte("2")), m.record()...)), f.Apply(set("gone", nil)), f.Close())
			s = mustOpen(t, a)
			both := s.(*mirrored)
			same(t, both.File, both.second)
			if string(s.Get("x")) != "2" || s.Get("gone") != nil {
				t.Errorf("x is %s", s.Get("x"))
			}
			must(t, s.Apply(set("x", []byte("3"))))
			same(t, both.File, both.second)
			must(t, s.Close())
		})
	}
}
