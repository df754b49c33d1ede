package run

import (
	"context"
	"sync/atomic"

	"choir/protocol"
	"choir/transport"
)

// counted counts what a member publishes, payload bytes only.
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

// Transcript is the record in an aggregator's store, in order.
func Transcript(v protocol.View) (entries [][]byte) {
	for _, key := range v.Keys("transcript/") {
		entries = append(entries, v.Get(key))
	}
	return entries
}

// Sent is the number of payload bytes published so far.
func (c *CountingBus) Sent() int64 { return c.sent.Load() }
