package compute

import "fmt"

// Bounds of the messages that a worker buffers.
const (
	earlyMessages = 1 << 14
	earlyBytes    = 64 << 20
)

// early buffers messages that arrive before the channel or the round that they belong to:
// channels come from the node, contributions from the parties. The buffer is durable: once a
// party has its receipt it does not retransmit, even to a restarted worker. Messages over the
// bounds are dropped.
type early struct {
	keys  map[uint32][]string // by party, in order of arrival
	next  uint32
	count int
	bytes int
}

func (w *Worker) buffer(party uint32, data []byte) {
	e := &w.early
	if e.count == earlyMessages || e.bytes+len(data) > earlyBytes {
		return
	}
	key := fmt.Sprintf("early/%d/%010d", party, e.next)
	w.eff.Put(key, data)
	e.add(party, key, e.next, len(data))
}

func (e *early) add(party uint32, key string, number uint32, size int) {
	if e.keys == nil {
		e.keys = map[uint32][]string{}
	}
	e.keys[party] = append(e.keys[party], key)
	e.next = max(e.next, number+1)
	e.count++
	e.bytes += size
}

// deliverEarly delivers a party's buffered messages; those that are still early are buffered
// again.
func (w *Worker) deliverEarly(party uint32) {
	e := &w.early
	keys := e.keys[party]
	delete(e.keys, party)
	for _, key := range keys {
		data := w.get(key)
		e.count--
		e.bytes -= len(data)
		w.eff.Delete(key)
		w.deliver(data)
	}
}

func (w *Worker) restoreEarly() error {
	for _, key := range w.view.Keys("early/") {
		var party, number uint32
		if _, err := fmt.Sscanf(key, "early/%d/%d", &party, &number); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		w.early.add(party, key, number, len(w.view.Get(key)))
	}
	return nil
}
