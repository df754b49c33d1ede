package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"choir/protocol"
)

// actor is one machine under the stream driver, with the memory that its
// process would have.
type actor struct {
	index   uint32
	machine protocol.Machine
	store   forgetful
	clock   int64
	out     []protocol.Outgoing
	work    *protocol.Work
	done    bool
}

// forgetful is a store that forgets when the process ends.
type forgetful interface {
	protocol.View
	apply(records []protocol.Record)
}

// soon bounds, in milliseconds, the delay of a wake that means more work; a machine that waits
// for others asks for a longer one.
const soon = 1000

// step gives the machine one event, and ticks while it asks for them at once.
func (a *actor) step(ev protocol.Event) error {
	for range 1 << 20 {
		eff := a.machine.Step(a.clock, ev)
		if err := a.take(eff); err != nil || a.done {
			return err
		}
		if eff.Wake == 0 || eff.Wake-a.clock >= soon ||
			(len(eff.Send) == 0 && eff.Wake > a.clock && ev == protocol.Event(protocol.Tick{})) {
			return nil
		}
		a.clock, ev = max(eff.Wake, a.clock), protocol.Tick{}
	}
	return fmt.Errorf("member %d never rests", a.index)
}

func (a *actor) take(eff protocol.Effects) error {
	a.store.apply(eff.Persist)
	a.out = append(a.out, eff.Send...)
	if eff.Propose != nil {
		a.work = eff.Propose
	}
	for _, n := range eff.Notices {
		if n.Code == protocol.NoteRefused || n.Code == protocol.NoteDisagree {
			return fmt.Errorf("member %d refused a message: %w", a.index,
				errors.Join(n.Err, fmt.Errorf("%s %s", n.Code, n.Detail)))
		}
	}
	a.done = a.done || eff.Done
	if eff.Done && eff.Err != nil {
		return fmt.Errorf("member %d: %w", a.index, eff.Err)
	}
	return nil
}

// sent returns the machine's outgoing messages and clears them.
func (a *actor) sent() []protocol.Outgoing {
	out := a.out
	a.out = nil
	return out
}

// topic is the third token of a subject, after the plan's.
func topic(subject string) string {
	parts := strings.SplitN(subject, ".", 4)
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// few is a memory for the handful of records of a party.
type few struct{ records []protocol.Record }

func (f *few) at(key string) int {
	return slices.IndexFunc(f.records, func(r protocol.Record) bool { return r.Key == key })
}

// Get implements protocol.View.
func (f *few) Get(key string) []byte {
	if i := f.at(key); i >= 0 {
		return f.records[i].Value
	}
	return nil
}

// Keys implements protocol.View.
func (f *few) Keys(prefix string) (keys []string) {
	for _, r := range f.records {
		if strings.HasPrefix(r.Key, prefix) {
			keys = append(keys, r.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (f *few) apply(records []protocol.Record) {
	for _, r := range records {
		i := f.at(r.Key)
		switch {
		case r.Value == nil && i >= 0:
			f.records = slices.Delete(f.records, i, i+1)
		case r.Value != nil && i >= 0:
			f.records[i].Value = r.Value
		case r.Value != nil:
			f.records = append(f.records, r)
		}
	}
}

// pack lays a memory's records end to end, so that a hundred thousand parked parties
// are as many objects to the collector.
func (f *few) pack() []byte {
	size := 0
	for _, r := range f.records {
		size += 8 + len(r.Key) + len(r.Value)
	}
	b := make([]byte, 0, size)
	for _, r := range f.records {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r.Key))), r.Key...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r.Value))), r.Value...)
	}
	return b
}

// unpack is pack's inverse.
func unpack(b []byte) *few {
	f := new(few)
	next := func() []byte {
		n := binary.BigEndian.Uint32(b)
		piece := b[4 : 4+n : 4+n]
		b = b[4+n:]
		return piece
	}
	for len(b) > 0 {
		key := string(next())
		f.records = append(f.records, protocol.Record{Key: key, Value: next()})
	}
	return f
}

// many is a compute node's or the aggregator's memory. What lies under the
// discarded prefixes would be on a disk, and is read again only when a party falls
// out or a process restarts: it is counted and dropped, and reading it fails the run.
type many struct {
	m       map[string][]byte
	discard []string
	dropped int64
	missed  string
}

func newMany(discard ...string) *many { return &many{m: map[string][]byte{}, discard: discard} }

func (s *many) discards(key string) bool {
	return slices.ContainsFunc(s.discard, func(p string) bool { return strings.HasPrefix(key, p) })
}

// Get implements protocol.View.
func (s *many) Get(key string) []byte {
	if s.discards(key) && s.dropped > 0 {
		s.missed = key
	}
	return s.m[key]
}

// Keys implements protocol.View. What was dropped is not listed; a machine lists
// it only to delete it.
func (s *many) Keys(prefix string) (keys []string) {
	for k := range s.m {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s *many) apply(records []protocol.Record) {
	for _, r := range records {
		switch {
		case s.discards(r.Key):
			s.dropped += int64(len(r.Value))
		case r.Value == nil:
			delete(s.m, r.Key)
		default:
			s.m[r.Key] = r.Value
		}
	}
}
