package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"choir/protocol"
)

// Store is a role's durable memory: a map from keys to values, changed by
// whole transactions.
type Store interface {
	protocol.View
	// Apply makes all records durable, or none, before it returns.
	Apply(records []protocol.Record) error
	Close() error
}

// ErrLocked says that another process has the store open.
var ErrLocked = errors.New("the store is in use by another process")

var bucket = []byte("choir")

// File is a Store in one bbolt file, mode 0600, for one process at a time.
type File struct{ db *bolt.DB }

// OpenFile opens or creates a store; a store that another process has open is
// refused with ErrLocked after a second.
func OpenFile(path string) (*File, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	if err := private(path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", path, err), db.Close())
	}
	return &File{db}, nil
}

// private refuses a store that others may read: it holds channel keys.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("store %s: mode %#o lets others read it, want 0600", path, info.Mode().Perm())
	}
	return nil
}

// Get implements protocol.View.
func (f *File) Get(key string) (value []byte) {
	_ = f.db.View(func(tx *bolt.Tx) error { // View fails only when the closure does, or on a closed store
		if v := tx.Bucket(bucket).Get([]byte(key)); v != nil {
			value = append([]byte{}, v...)
		}
		return nil
	})
	return value
}

// Keys implements protocol.View.
func (f *File) Keys(prefix string) (keys []string) {
	_ = f.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, _ := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, _ = c.Next() {
			keys = append(keys, string(k))
		}
		return nil
	})
	return keys
}

// Apply implements Store; bbolt syncs the file before it returns.
func (f *File) Apply(records []protocol.Record) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, r := range records {
			if err := apply(b, r); err != nil {
				return fmt.Errorf("store: %s: %w", r.Key, err)
			}
		}
		return nil
	})
}

func apply(b *bolt.Bucket, r protocol.Record) error {
	if r.Value == nil {
		return b.Delete([]byte(r.Key))
	}
	return b.Put([]byte(r.Key), r.Value)
}

// Close closes the file.
func (f *File) Close() error { return f.db.Close() }

// Ram is a Store that forgets when the process ends: for experiments in which
// nothing needs to survive. The zero value isn't usable; see NewRam.
type Ram struct {
	m map[string][]byte
	// groups are the keys by what stands before their first slash, so that asking for a
	// round's keys doesn't look through the record of all rounds.
	groups map[string]map[string][]byte
}

// NewRam is an empty store.
func NewRam() *Ram { return &Ram{m: map[string][]byte{}, groups: map[string]map[string][]byte{}} }

// Get implements protocol.View.
func (r *Ram) Get(key string) []byte { return r.m[key] }

// Keys implements protocol.View.
func (r *Ram) Keys(prefix string) []string {
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

// Journal is a Store with the records of steps that aren't durable yet laid
// over it: what a machine reads as its own memory while a batch is under way.
type Journal struct {
	store   Store
	pending []protocol.Record
	overlay map[string][]byte // by key; nil: deleted
}

// NewJournal starts with nothing pending.
func NewJournal(s Store) *Journal { return &Journal{store: s, overlay: map[string][]byte{}} }

// Get implements protocol.View.
func (j *Journal) Get(key string) []byte {
	if v, ok := j.overlay[key]; ok {
		return v
	}
	return j.store.Get(key)
}

// Keys implements protocol.View.
func (j *Journal) Keys(prefix string) []string {
	keys := j.store.Keys(prefix)
	for k, v := range j.overlay {
		if strings.HasPrefix(k, prefix) {
			if i, found := slices.BinarySearch(keys, k); found && v == nil {
				keys = slices.Delete(keys, i, i+1)
			} else if !found && v != nil {
				keys = slices.Insert(keys, i, k)
			}
		}
	}
	return keys
}

// add lays a step's records over the store.
func (j *Journal) add(records []protocol.Record) {
	j.pending = append(j.pending, records...)
	for _, r := range records {
		j.overlay[r.Key] = r.Value
	}
}

// commit makes everything pending durable.
func (j *Journal) commit() error {
	if len(j.pending) == 0 {
		return nil
	}
	if err := j.store.Apply(j.last()); err != nil {
		return err
	}
	clear(j.pending) // it may be long and hold much
	j.pending = j.pending[:0]
	clear(j.overlay)
	return nil
}

// last is what is pending without the records that a later one in the same
// transaction replaces: what comes and goes within a batch is never written.
func (j *Journal) last() []protocol.Record {
	if len(j.overlay) == len(j.pending) {
		return j.pending
	}
	seen := make(map[string]bool, len(j.overlay))
	keep := make([]protocol.Record, 0, len(j.overlay))
	for i := len(j.pending) - 1; i >= 0; i-- {
		if r := j.pending[i]; !seen[r.Key] {
			seen[r.Key] = true
			keep = append(keep, r)
		}
	}
	slices.Reverse(keep)
	return keep
}
