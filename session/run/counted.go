package run

import (
	"context"
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

// Transcript returns the record in an aggregator's store, in order.
func Transcript(v protocol.View) (entries [][]byte) {
	for _, key := range v.Keys("transcript/") {
		entries = append(entries, v.Get(key))
	}
	return entries
}

// Sent returns the number of payload bytes published.
func (c *CountingBus) Sent() int64 { return c.sent.Load() }
