package run

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"choir/protocol"
	"choir/transport"
)

// CountingBus counts the payload bytes that a member publishes.
type CountingBus struct {
	transport.Bus
	sent atomic.Int64
}

// Publish implements transport.Bus.
func (c *CountingBus) Publish(ctx context.Context, msgs ...transport.Message) error {
	for _, m := range msgs {
		c.sent.Add(int64(len(m.Data)))
	}
	return c.Bus.Publish(ctx, msgs...)
}

// Transcript returns the record in an aggregator's store, in order. It ends with the Confirms of the last
// result if all of them are there: the aggregator puts them on record with the next attempt, which a session
// that stopped does not get to.
func Transcript(v protocol.View) (entries [][]byte) {
	for _, key := range v.Keys("transcript/") {
		entries = append(entries, v.Get(key))
	}
	if n := len(entries); n == 0 || protocol.Kind(entries[n-1][0]) == protocol.KindAbort {
		return entries
	}
	keys := v.Keys("confirm/") // of one result
	const head, value = 4 + 4 + 32, 16
	if len(keys) == 0 || len(v.Get("confirming")) != head+len(keys)*value { // one value a node
		return entries
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(member(a), member(b)) })
	for _, key := range keys {
		entries = append(entries, v.Get(key))
	}
	return entries
}

// member is the number that ends a key.
func member(key string) uint32 {
	n, _ := protocol.KeyNumber(key)
	return n
}

// Sent returns the number of payload bytes published.
func (c *CountingBus) Sent() int64 { return c.sent.Load() }
