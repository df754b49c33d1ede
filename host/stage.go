package host

import "sync"

// A value that a machine will store soon can be written before the transaction that stores it.
// A place counts only when the tree names it, so a crash in between loses nothing and leaves
// nothing.
const (
	// stagedBytes bounds the values that wait for their transactions, in bytes.
	stagedBytes = 256 << 20
	// stagedFor is the number of transactions after which a value is given up.
	stagedFor = 64
)

// ahead is the values that were announced and not stored yet.
type ahead struct {
	mu      sync.Mutex
	values  map[*byte]*staged // by the address of their first bytes
	bytes   int               // of all values
	applied uint64            // number of transactions so far
}

// staged is a value that was announced, until a transaction stores it or it is given up.
type staged struct {
	size  int
	at    place // length 0: it is not written yet; guarded by File.apply
	gone  bool
	since uint64
}

// Stage implements stager. A value that cannot be written ahead is written with its transaction,
// which returns the error.
func (f *File) Stage(value []byte) (write func()) {
	if len(value) < longValue {
		return nil
	}
	a := &f.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.values[&value[0]] != nil || a.bytes+len(value) > stagedBytes {
		return nil
	}
	s := &staged{size: len(value), since: a.applied}
	if a.values == nil {
		a.values = map[*byte]*staged{}
	}
	a.values[&value[0]] = s
	a.bytes += s.size
	return func() {
		f.apply.Lock()
		defer f.apply.Unlock()
		if !a.waiting(s) {
			return
		}
		if p, err := f.long.write(value); err == nil {
			s.at = p
		}
	}
}

// waiting reports whether no transaction has stored the value and it was not given up.
func (a *ahead) waiting(s *staged) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !s.gone
}

// claim returns the place of a value that was written ahead, and removes it.
func (a *ahead) claim(value []byte) (at place, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.values[&value[0]]
	if s == nil || s.size != len(value) {
		return place{}, false
	}
	a.drop(&value[0], s)
	return s.at, s.at.length > 0
}

// drop removes a value.
func (a *ahead) drop(key *byte, s *staged) {
	s.gone = true
	a.bytes -= s.size
	delete(a.values, key)
}

// stale removes the values that have waited for too many transactions and returns their places.
func (a *ahead) stale() (places []place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.applied++
	for key, s := range a.values {
		if a.applied-s.since <= stagedFor {
			continue
		}
		a.drop(key, s)
		if s.at.length > 0 {
			places = append(places, s.at)
		}
	}
	return places
}
