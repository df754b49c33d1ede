package host

import "sync"

// What a machine will store soon can go to the disk before the transaction that stores
// it: no place counts that the tree doesn't name, so a crash in between loses nothing and
// leaves nothing.
const (
	// stagedBytes bounds what waits for its transaction, in bytes.
	stagedBytes = 256 << 20
	// stagedFor is how many transactions a value waits for its own at most.
	stagedFor = 64
)

// ahead are the values that were announced.
type ahead struct {
	mu      sync.Mutex
	values  map[*byte]*staged // by their first bytes
	bytes   int               // in all
	applied uint64            // how many transactions there were
}

// staged is a value that was announced, at until a transaction stores it or it is
// given up.
type staged struct {
	size  int
	at    place // length 0: it isn't written yet; belongs to whoever holds File.apply
	gone  bool
	since uint64
}

// Stage implements Stager. A value that can't be written ahead is written with its
// transaction, which says why not.
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
		if !a.waits(s) {
			return
		}
		if p, err := f.long.write(value); err == nil {
			s.at = p
		}
	}
}

func (a *ahead) waits(s *staged) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !s.gone
}

// take is where a value stands that was written ahead, and ends its wait.
func (a *ahead) take(value []byte) (at place, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.values[&value[0]]
	if s == nil || s.size != len(value) {
		return place{}, false
	}
	a.drop(&value[0], s)
	return s.at, s.at.length > 0
}

func (a *ahead) drop(key *byte, s *staged) {
	s.gone = true
	a.bytes -= s.size
	delete(a.values, key)
}

// stale ends the wait of what has waited for too many transactions and returns where
// it stands.
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
