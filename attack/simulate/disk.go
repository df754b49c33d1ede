package simulate

import (
	"slices"
	"sort"
	"strings"

	"choir/protocol"
)

// disk is a member's durable records, overlaid by the records of the current
// batch: a machine's view.
type disk struct {
	durable map[string][]byte
	pending []protocol.Record
	overlay map[string][]byte   // nil: deleted
	undo    [][]protocol.Record // for each durable batch, the values that it replaced; nil: none
}

func newDisk() *disk { return &disk{durable: map[string][]byte{}, overlay: map[string][]byte{}} }

// Get implements protocol.View.
func (d *disk) Get(key string) []byte {
	if v, ok := d.overlay[key]; ok {
		return v
	}
	return d.durable[key]
}

// Keys implements protocol.View.
func (d *disk) Keys(prefix string) []string {
	var keys []string
	for k := range d.durable {
		if _, over := d.overlay[k]; !over && strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	for k, v := range d.overlay {
		if v != nil && strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

func (d *disk) add(records []protocol.Record) {
	d.pending = append(d.pending, records...)
	for _, r := range records {
		d.overlay[r.Key] = r.Value
	}
}

// commit makes the batch durable. Values are copied now and not before, so that a
// machine that changes one after handing it over is detected.
func (d *disk) commit() {
	var before []protocol.Record
	for _, r := range d.pending {
		before = append(before, protocol.Record{Key: r.Key, Value: d.durable[r.Key]})
		if r.Value == nil {
			delete(d.durable, r.Key)
		} else {
			d.durable[r.Key] = append([]byte{}, r.Value...)
		}
	}
	if before != nil {
		d.undo = append(d.undo, before)
	}
	d.drop()
}

// rewind takes back the last n durable batches that changed something, or all there are.
func (d *disk) rewind(n int64) {
	for ; n > 0 && len(d.undo) > 0; n-- {
		last := len(d.undo) - 1
		for _, r := range slices.Backward(d.undo[last]) {
			if r.Value == nil {
				delete(d.durable, r.Key)
			} else {
				d.durable[r.Key] = r.Value
			}
		}
		d.undo = d.undo[:last]
	}
}

// drop loses the batch.
func (d *disk) drop() {
	d.pending = nil
	clear(d.overlay)
}
