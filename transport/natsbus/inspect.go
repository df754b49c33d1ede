package natsbus

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
)

// StreamState is what Inspect finds.
type StreamState struct {
	Exists     bool
	Storage    string // file or memory
	Replicas   int
	MaxAge     time.Duration // 0: never
	BrokerTime time.Time     // zero if the broker does not send it
}

// Inspect returns the state of the plan's stream, or the error for one whose settings do not give
// this package's guarantees. It creates and changes nothing.
func (b *Bus) Inspect(parent context.Context) (*StreamState, error) {
	ctx, release := b.guard(b.ctx, parent, b.deniedRead)
	defer release()
	stream, err := b.js.Stream(ctx, b.config.stream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return &StreamState{}, nil
	}
	if err != nil {
		return nil, b.wrap("inspect", withLast(reason(ctx, parent), b.explained(err)))
	}
	info := stream.CachedInfo()
	if err := compare(info.Config, b.config.streamConfig()); err != nil {
		return nil, b.wrap("inspect", err)
	}
	return &StreamState{
		Exists:     true,
		Storage:    map[bool]string{true: "memory", false: "file"}[info.Config.Storage == jetstream.MemoryStorage],
		Replicas:   info.Config.Replicas,
		MaxAge:     info.Config.MaxAge,
		BrokerTime: info.TimeStamp,
	}, nil
}

// Try reports whether this client may publish a subject of the plan. It sends a message that the
// broker checks and then refuses to store. The error is transport.ErrAuth for a missing permission.
func (b *Bus) Try(parent context.Context, subject string) error {
	m := transport.Message{Subject: subject}
	if err := b.validate([]transport.Message{m}); err != nil {
		return b.wrap("try", err)
	}
	ctx, release := b.guard(b.ctx, parent, deniedPublish([]transport.Message{m}))
	defer release()
	_, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subject},
		jetstream.WithExpectStream(b.config.stream()), jetstream.WithExpectLastSequence(math.MaxInt64))
	const wrongLastSequence = 10071
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == wrongLastSequence {
		return nil
	}
	if err == nil {
		err = errors.New("the broker has stored a message that it should have refused")
	}
	return b.wrap("publish "+subject, withLast(reason(ctx, parent), err))
}
