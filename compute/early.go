package compute

import "fmt"

// Bounds of what a worker keeps that came before the channel or the round that it
// belongs to.
const (
	earlyMessages = 1 << 14
	earlyBytes    = 64 << 20
)

// early keeps messages that come too soon, by party, since a worker's channels take
// another way than its parties' contributions. They are durable: a party that once
// had its receipt says nothing again, not even to a worker that began anew. What
// doesn't fit is lost.
type early struct {
	keys  map[uint32][]string // by party, in order of arrival
	next  uint32
	count int
	bytes int
}

func (w *Worker) keepEarly(party uint32, data []byte) {
	e := &w.early
	if e.count == earlyMessages || e.bytes+len(data) > earlyBytes {
		return
	}
	key := fmt.Sprintf("early/%d/%010d", party, e.next)
	w.node.eff.Put(key, data)
	e.add(party, key, e.next, len(data))
}

func (e *early) add(party uint32, key string, number uint32, size int) {
	if e.keys == nil {
		e.keys = map[uint32][]string{}
	}
	e.keys[party] = append(e.keys[party], key)
	e.next, e.count, e.bytes = max(e.next, number+1), e.count+1, e.bytes+size
}

// retry delivers again what came early of a party; what is still early is kept
// again.
func (w *Worker) retry(party uint32) {
	e := &w.early
	keys := e.keys[party]
	delete(e.keys, party)
	for _, key := range keys {
		data := w.node.get(key)
		e.count, e.bytes = e.count-1, e.bytes-len(data)
		w.node.eff.Delete(key)
		w.deliver(data)
	}
}

func (w *Worker) restoreEarly() error {
	for _, key := range w.node.view.Keys("early/") {
		var party, number uint32
		if _, err := fmt.Sscanf(key, "early/%d/%d", &party, &number); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		w.early.add(party, key, number, len(w.node.view.Get(key)))
	}
	return nil
}
