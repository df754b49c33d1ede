package member

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"choir/host"
	"choir/protocol"
	"choir/session/run"
	"choir/transport"
	"choir/transport/natsbus"
)

// connect connects to the broker and ensures that the plan's stream exists. The
// limit cancels a context that has no deadline: with one, natsbus would wait until
// then for the answer to a request that was lost with a broker that died.
func (m *Member) connect(ctx context.Context) (*run.CountingBus, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := &connectTimer{limit: m.Config.connectLimit()}
	wait.timer = time.AfterFunc(wait.limit, func() { cancel(context.Canceled) })
	defer wait.timer.Stop()
	defer time.AfterFunc(time.Until(time.UnixMilli(m.Session.Plan.Expiry())), func() {
		cancel(protocol.Fail(protocol.ClassIntegrity, "%w while the member waited for the broker",
			protocol.ErrExpired))
	}).Stop()
	m.blocked.note(&m.blocked.full, false)
	m.blocked.note(&m.blocked.away, false)
	config := m.bus()
	defer m.reportWait(&config, func(why error) {
		wait.failed(why)
		m.lost.failed(why)
	})()
	config.Connected = m.connectionChanged
	config.WaitAtLimits, config.Full = true, m.brokerFull
	bus, err := natsbus.Open(limited, config)
	opened := err == nil
	if opened {
		if err = bus.EnsureStream(limited); err != nil {
			err = errors.Join(err, bus.Close())
		}
	}
	if err != nil {
		return nil, m.busError(ctx, limited, m.Config.connectLimit(), err, opened)
	}
	m.stream, m.nats = bus.Created(), bus
	m.Log.Info("connected", "event", "connected")
	if text := m.expiring(config); text != "" {
		m.Log.Warn(text+": replace the file before, and nothing else need be done", "event", "expiring")
	}
	return &run.CountingBus{Bus: bus}, nil
}

// connectTimer is the limit on the time for reaching the broker. It does not run while the broker is at its
// own limit, which shows that it was reached.
type connectTimer struct {
	limit time.Duration
	mu    sync.Mutex
	timer *time.Timer
	full  bool
}

// failed is told why an attempt has failed.
func (c *connectTimer) failed(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch full := errors.Is(why, transport.ErrFull); {
	case full && !c.full:
		c.full = c.timer.Stop() // else the limit is over
	case !full && c.full:
		c.full = false
		c.timer.Reset(c.limit)
	}
}

// expiring tells that the credentials for the broker expire before the plan does, or is "".
func (m *Member) expiring(config natsbus.Config) string {
	expire := config.CredentialsExpire()
	if expire.IsZero() || expire.Unix() >= m.Session.Plan.NotAfter {
		return ""
	}
	return fmt.Sprintf("%s expires at %s, before the plan", config.CredentialsFile,
		expire.UTC().Format(time.RFC3339))
}

// busError classes the error of a connection that was tried for a time, the end of which ends limited.
func (m *Member) busError(ctx, limited context.Context, wait time.Duration, err error, opened bool) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(context.Cause(limited), protocol.ErrExpired):
		return fmt.Errorf("%w: %w", context.Cause(limited), lastAttempt(err))
	case limited.Err() != nil:
		return protocol.Fail(protocol.ClassAuth, "bus: %s: not reached within %s: %w",
			m.Config.Bus.URL, wait, lastAttempt(err))
	case errors.Is(err, transport.ErrAuth):
		return protocol.Fail(protocol.ClassAuth, "bus: %s: %w", m.Config.Bus.URL, err)
	case !opened: // a broker that cannot be reached is retried until the limit: a setting is wrong
		return protocol.Fail(protocol.ClassInput, "bus: %w", err)
	}
	return fmt.Errorf("bus: %w", err)
}

// connectLimit is the time for reaching the broker at the start.
func (c *Config) connectLimit() time.Duration {
	if wait := c.Timing.Connect.Duration; wait != 0 {
		return wait
	}
	return time.Minute
}

// streamKey is the key of the creation time of the stream that a store's position is in.
const streamKey = "bus/created"

// sameStream makes the member read from the start when the stream is another one than the store's
// position is in: the broker has lost its store.
func (m *Member) sameStream(store host.Store) error {
	now := binary.BigEndian.AppendUint64(nil, uint64(m.stream.UnixNano()))
	before := store.Get(streamKey)
	if bytes.Equal(before, now) {
		return nil
	}
	records := []protocol.Record{{Key: streamKey, Value: now}}
	if before != nil {
		m.Log.Warn("the broker has lost the plan's stream: reading the new one from its start", "event", "rewound")
		records = append(records, host.Rewind())
	}
	return store.Apply(records)
}

// Times at which a member reports that it waits for the broker.
const (
	firstReport = time.Second
	nextReports = 15 * time.Second
)

// reportWait logs that the broker has not answered yet, first after firstReport,
// and why the last attempt failed, until the function that it returns is called. failed receives the error of
// each attempt.
func (m *Member) reportWait(config *natsbus.Config, failed func(error)) (stop func()) {
	since, done := time.Now(), make(chan struct{})
	var why atomic.Pointer[error]
	config.Failed = func(err error) {
		why.Store(&err)
		failed(err)
	}
	go func() {
		for wait := firstReport; ; wait = nextReports {
			select {
			case <-done:
				return
			case <-time.After(wait):
				message := fmt.Sprintf("waiting for the broker at %s since %s", m.Config.Bus.URL,
					since.Format(time.TimeOnly))
				if err := why.Load(); err != nil {
					message += fmt.Sprintf(": %v", *err)
				}
				m.Log.Info(message, "event", "waiting", "broker", m.Config.Bus.URL,
					"since", since.UTC().Format(time.RFC3339))
			}
		}
	}()
	return func() { close(done) }
}

// lastAttempt returns the error of the last attempt to connect, without the end of
// the context that ended the attempts.
func lastAttempt(err error) error {
	if both, ok := err.(interface{ Unwrap() []error }); ok {
		if list := both.Unwrap(); len(list) == 2 && errors.Is(list[0], context.Canceled) {
			return list[1]
		}
	}
	return err
}
