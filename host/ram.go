package host

import (
	"sort"
	"strings"
	"sync"

	"choir/protocol"
)

// Ram is a Store in memory, for experiments that need not survive the process. The zero value
// is not usable; see NewRam.
type Ram struct {
	mu sync.RWMutex
	m  map[string][]byte
	// groups has the keys by their part before the first slash, so that a search for a round's
	// keys does not visit the records of all rounds.
	groups map[string]map[string][]byte
}

// NewRam returns an empty store.
func NewRam() *Ram { return &Ram{m: map[string][]byte{}, groups: map[string]map[string][]byte{}} }

// Get implements protocol.View.
func (r *Ram) Get(key string) []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.m[key]
}

// Keys implements protocol.View.
func (r *Ram) Keys(prefix string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if group, _, ok := strings.Cut(prefix, "/"); ok {
		return sortedKeys(r.groups[group], prefix)
	}
	return sortedKeys(r.m, prefix)
}

func sortedKeys(m map[string][]byte, prefix string) []string {
	var keys []string
	for k := range m {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// Apply implements Store.
func (r *Ram) Apply(records []protocol.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range records {
		put(r.m, rec)
		if group, _, ok := strings.Cut(rec.Key, "/"); ok {
			if r.groups[group] == nil {
				r.groups[group] = map[string][]byte{}
			}
			put(r.groups[group], rec)
		}
	}
	return nil
}

func put(m map[string][]byte, rec protocol.Record) {
	if rec.Value == nil {
		delete(m, rec.Key)
	} else {
		m[rec.Key] = rec.Value
	}
}

// Close implements Store.
func (r *Ram) Close() error { return nil }
