package host

import (
	"maps"
	"slices"
	"strings"

	"choir/protocol"
)

// Journal is a Store and the records of steps that are not durable yet: together they are the
// memory that a machine reads.
//
// Of several records of a key only the last is kept: a record that is deleted before it must
// be durable is never written. While one batch is being made durable the next is collected.
//
// All methods but apply belong to the goroutine that steps the machine.
type Journal struct {
	store   Store
	pending overlay
	leaving overlay // being made durable; nil when nothing is
}

// NewJournal returns a Journal without pending records.
func NewJournal(s Store) *Journal { return &Journal{store: s, pending: overlay{}} }

// overlay maps keys to their last records. A record erases if one that it replaced does.
type overlay map[string]protocol.Record

// Get implements protocol.View.
func (j *Journal) Get(key string) []byte {
	for _, o := range []overlay{j.pending, j.leaving} {
		if r, ok := o[key]; ok {
			return r.Value
		}
	}
	return j.store.Get(key)
}

// Keys implements protocol.View.
func (j *Journal) Keys(prefix string) []string {
	keys := j.store.Keys(prefix)
	for _, o := range []overlay{j.leaving, j.pending} {
		keys = o.over(keys, prefix)
	}
	return keys
}

// over applies the overlay's changes to sorted keys.
func (o overlay) over(keys []string, prefix string) []string {
	var more []string
	gone := map[string]bool{}
	for k, r := range o {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		if _, there := slices.BinarySearch(keys, k); there && r.Value == nil {
			gone[k] = true
		} else if !there && r.Value != nil {
			more = append(more, k)
		}
	}
	if len(gone) > 0 {
		keys = slices.DeleteFunc(keys, func(k string) bool { return gone[k] })
	}
	if len(more) > 0 {
		keys = append(keys, more...)
		slices.Sort(keys)
	}
	return keys
}

// add adds a step's records and returns by how many bytes the pending records have grown.
func (j *Journal) add(records []protocol.Record) (grown int) {
	for _, r := range records {
		before := j.pending[r.Key]
		grown += len(r.Value) - len(before.Value)
		r.Erase = r.Erase || before.Erase
		j.pending[r.Key] = r
	}
	return grown
}

// begin returns the pending records, in order of their keys, as the next batch to be made
// durable. The batch before must have ended.
func (j *Journal) begin() []protocol.Record {
	j.leaving, j.pending = j.pending, overlay{}
	records := make([]protocol.Record, 0, len(j.leaving))
	for _, k := range slices.Sorted(maps.Keys(j.leaving)) {
		records = append(records, j.leaving[k])
	}
	return records
}

// apply makes a batch durable. It may run concurrently with the other methods.
func (j *Journal) apply(batch []protocol.Record) error {
	if len(batch) == 0 {
		return nil
	}
	return j.store.Apply(batch)
}

// end marks the batch as durable.
func (j *Journal) end() { j.leaving = nil }

// stage lets the store write a value that a later step will store.
func (j *Journal) stage(value []byte) (write func()) {
	if s, ok := j.store.(stager); ok {
		return s.Stage(value)
	}
	return nil
}
