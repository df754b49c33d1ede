package host

import (
	"slices"
	"strings"

	"choir/protocol"
)

// Scoped is the part of a store that belongs to one plan, so that a member can keep one store
// for all its plans. Keys under the shared prefix belong to all plans: a party's ledger continues
// from plan to plan, in the same transactions as the contributions that it pays for.
type Scoped struct {
	Store
	prefix, shared string
}

// Scope puts prefix before every key that does not begin with shared.
func Scope(s Store, prefix, shared string) *Scoped { return &Scoped{s, prefix, shared} }

func (s *Scoped) key(key string) string {
	if strings.HasPrefix(key, s.shared) {
		return key
	}
	return s.prefix + key
}

// Get implements protocol.View.
func (s *Scoped) Get(key string) []byte { return s.Store.Get(s.key(key)) }

// Keys implements protocol.View. A prefix shorter than the shared one finds the plan's keys
// only.
func (s *Scoped) Keys(prefix string) []string {
	if strings.HasPrefix(prefix, s.shared) {
		return s.Store.Keys(prefix)
	}
	keys := s.Store.Keys(s.prefix + prefix)
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], s.prefix)
	}
	return keys
}

// Apply implements Store.
func (s *Scoped) Apply(records []protocol.Record) error {
	records = slices.Clone(records)
	for i := range records {
		records[i].Key = s.key(records[i].Key)
	}
	return s.Store.Apply(records)
}

// Stage implements stager if the store does.
func (s *Scoped) Stage(value []byte) (write func()) {
	if below, ok := s.Store.(stager); ok {
		return below.Stage(value)
	}
	return nil
}
