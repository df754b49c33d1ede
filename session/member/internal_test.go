package member

import (
	"log/slog"
	"testing"
	"time"

	"choir/host"
	"choir/protocol"
)

// OpenStore opens the member's store, for the external tests.
func (m *Member) OpenStore() (host.Store, error) { return m.openStore() }

// TestAnotherStreamIsReadFromItsStart checks that a store's position on the bus counts for one
// stream only.
func TestAnotherStreamIsReadFromItsStart(t *testing.T) {
	store := host.NewRam()
	m := &Member{Log: slog.New(slog.DiscardHandler), stream: time.Unix(1, 0)}
	cursor := host.Rewind().Key
	for i, step := range []struct {
		created int64
		kept    bool
	}{{1, true}, {1, true}, {2, false}, {2, true}} {
		if err := store.Apply([]protocol.Record{{Key: cursor, Value: []byte("position")}}); err != nil {
			t.Fatal(err)
		}
		m.stream = time.Unix(step.created, 0)
		if err := m.sameStream(store); err != nil {
			t.Fatal(err)
		}
		if kept := store.Get(cursor) != nil; kept != step.kept {
			t.Errorf("step %d: position kept: %v", i, kept)
		}
	}
}

// Age makes the documents at the broker older, for the external tests.
func (r *Room) Age(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, stored := range r.have {
		r.have[name] = stored.Add(-by)
	}
}

// Count is how many messages have been read.
func (r *Room) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
