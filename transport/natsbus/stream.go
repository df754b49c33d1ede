package natsbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport/internal/fragment"
)

// headerRoom is the largest size of a message's headers, in bytes.
const headerRoom = 4 << 10

// maxConsumers is the number of subscriptions that a plan's stream can have at once. A broker's
// default is 1000. If the account allows fewer, its limit applies.
const maxConsumers = 1 << 18

// EnsureStream creates the plan's stream from the Config's storage fields, unless it exists. Any
// number of processes may call it at once. It returns an error for a stream whose settings do not
// give this package's guarantees, and leaves it unchanged. Storage, replicas and limits are the
// creator's choice and are not compared. It waits for a broker that is down until ctx ends.
func (b *Bus) EnsureStream(parent context.Context) error {
	ctx, release := b.guard(b.ctx, parent, b.deniedAPI)
	defer release()
	pause := minBackoff
	for tries := 0; ; tries++ {
		err := b.ensureOnce(ctx, tries)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			if fatal := b.permanent(err); fatal != nil {
				return b.wrap("ensure stream", fatal)
			}
		}
		if ctx.Err() == nil {
			b.failed(b.explained(err))
		}
		if !sleep(ctx, &pause) {
			return b.wrap("ensure stream", withLast(reason(ctx, parent), err))
		}
	}
}

// explained adds what to do about a broker that is at its limit or answers no request of JetStream.
func (b *Bus) explained(err error) error {
	if b.lacksRoom(err) {
		return atLimit(err)
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return fmt.Errorf("%w: the server needs JetStream, \"jetstream { store_dir: ... }\" in its file", err)
	}
	return err
}

// errForeign is the error of a stream of this name with other settings.
var errForeign = errors.New("the stream exists with other settings")

func (b *Bus) ensureOnce(parent context.Context, tries int) error {
	ctx, release := b.request(parent, tries)
	defer release()
	want := b.config.streamConfig()
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// If another process has just created it with the same settings, creating it succeeds;
		// with others it fails, and the comparison below finds the difference.
		stream, err = b.create(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			stream, err = b.js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	if err := compare(info.Config, want); err != nil {
		return err
	}
	b.mu.Lock()
	b.created = info.Created
	b.mu.Unlock()
	return nil
}

// Created returns when the stream was created that EnsureStream found or made, the zero time
// before. A stream that replaces a lost one has another time.
func (b *Bus) Created() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.created
}

// heal creates the stream again if the broker has lost it. A client that may not create streams
// waits for another one to do so.
func (b *Bus) heal(ctx context.Context, what operation, err error, tries int) {
	lost := errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse)
	if lost && !b.Created().IsZero() {
		if err := b.ensureOnce(ctx, tries); err != nil {
			b.noteRoom(what, true, err)
		} // the caller's next try shows whether it helped
	}
}

func (b *Bus) create(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	const tooManyConsumers = 10026
	stream, err := b.js.CreateStream(ctx, want)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == tooManyConsumers {
		want.MaxConsumers = -1 // the account's limit
		return b.js.CreateStream(ctx, want)
	}
	return stream, err
}

func (c Config) streamConfig() jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name:         c.stream(),
		Description:  "choir plan " + c.Plan,
		Subjects:     []string{c.prefix() + ">"},
		Retention:    jetstream.LimitsPolicy,
		Discard:      jetstream.DiscardNew,
		Storage:      c.Storage.jetstream(),
		Replicas:     max(c.Replicas, 1),
		MaxBytes:     -1,
		MaxAge:       c.MaxAge,
		MaxMsgSize:   fragment.Size + headerRoom,
		MaxConsumers: maxConsumers,
		DenyDelete:   true,
		DenyPurge:    true,
		Duplicates:   2 * time.Minute,
	}
	if c.MaxBytes > 0 {
		config.MaxBytes = c.MaxBytes
	}
	if c.MaxAge > 0 {
		config.Duplicates = min(config.Duplicates, c.MaxAge)
	}
	return config
}

// compare returns an error for the first setting that differs.
func compare(got, want jetstream.StreamConfig) error {
	var what string
	switch {
	case !slices.Equal(got.Subjects, want.Subjects):
		what = "subjects"
	case got.Retention != want.Retention:
		what = "retention"
	case got.Discard != want.Discard:
		what = "discard policy"
	case !got.DenyDelete || !got.DenyPurge:
		what = "deletion is allowed"
	case got.MaxMsgSize >= 0 && got.MaxMsgSize < want.MaxMsgSize:
		what = "message size"
	case got.MaxMsgs > 0 || got.MaxMsgsPerSubject > 0:
		what = "message count limit"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s: %s", errForeign, got.Name, what)
}
