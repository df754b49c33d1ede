package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"choir/host"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/run"
	"choir/transport"
)

// runOnce is Run up to the first error.
func (m *Member) runOnce(ctx context.Context) error {
	store, err := m.openOwn()
	if err != nil {
		return err
	}
	shut := func() { _ = store.Close() } // what was written is on the disk
	defer func() { shut() }()
	if reason, ok := m.toLeave(); ok && !m.Session.Plan.Is(m.Index, protocol.RoleAggregator) {
		return leftError(reason)
	}
	if err := m.succeed(store); err != nil {
		return err
	}
	if err := m.keepRecords(store); err != nil {
		return err
	}
	if err := m.affordable(store); err != nil {
		return err
	}
	stopped, err := m.watch(ctx, store)
	if err != nil {
		return err
	}
	last, err := m.connected(ctx, func(bus *run.CountingBus) error { return m.drive(ctx, store, bus) })
	release := shut
	shut = func() {}
	outErr := interruptible(ctx, func() error { return m.writeOutputs(store, err) }, release)
	stopped(err)
	if outErr != nil && err != nil {
		m.Log.Warn("results", "event", "written", "error", outErr.Error())
	}
	last()
	return cmp.Or(err, outErr)
}

// affordable checks that a party's budget covers the rest of the plan, so that it does not join and
// leave in the middle.
func (m *Member) affordable(store host.Store) error {
	if !m.Session.Plan.Is(m.Index, protocol.RoleParty) || store.Get("done") != nil {
		return nil
	}
	own, err := m.Config.Budget.budget()
	if err != nil {
		return err
	}
	chain, err := readLedger(store)
	if err != nil {
		return err
	}
	return run.NewLedger(m.Session, chain, own).AffordRest()
}

// connected connects and drives a machine. last logs the end.
func (m *Member) connected(ctx context.Context, drive func(*run.CountingBus) error) (last func(), err error) {
	bus, err := m.connect(ctx)
	if err != nil {
		m.logRefusal(err)
		return func() {}, err
	}
	defer m.lost.end()
	defer bus.Close()
	err = drive(bus)
	last = func() { m.Log.Info("stopped", "event", "stopped", "sent_bytes", bus.Sent()) }
	if errors.Is(err, transport.ErrAuth) {
		err = protocol.Fail(protocol.ClassAuth, "%w", err)
	}
	m.logRefusal(err)
	return last, err
}

// logRefusal logs that the broker refuses this member, if that is the error.
func (m *Member) logRefusal(err error) {
	if errors.Is(err, transport.ErrAuth) {
		m.Log.Error("the broker refuses this member: "+BrokerRemedy(err), "event", "broker-refused",
			"error", err.Error())
	}
}

// errLeft ends a party that drops out.
var errLeft = errors.New("left the session")

func (m *Member) drive(parent context.Context, store host.Store, bus *run.CountingBus) error {
	ctx, leave := context.WithCancelCause(parent)
	defer leave(nil)
	if err := m.sameStream(store); err != nil {
		return err
	}
	r, err := m.role(store, bus)
	if err != nil {
		return err
	}
	endWatch := m.startWatch(parent, leave)
	r.Notify = func(n protocol.Notice) {
		m.work.scorer.notify(n)
		logNotice(m.Log, n, bus)
		m.watcher.notify(n)
		if m.LeaveAfter > 0 && n.Code == protocol.NoteResult && n.Round >= m.LeaveAfter {
			leave(errLeft)
		}
	}
	err = r.Run(ctx)
	m.watcher.Stopped(err)
	endWatch()
	if errors.Is(err, errAborted) && r.Model != nil {
		return m.endForAll(parent, store, bus, err)
	}
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// startWatch follows the member until the returned function is called, which announces its end.
func (m *Member) startWatch(ctx context.Context, leave func(error)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.watcher.run(ctx, m.nats, leave)
	}()
	return func() {
		cancel()
		<-done
	}
}

// endForAll ends the session at the aggregator, for all members and for good.
func (m *Member) endForAll(ctx context.Context, store host.Store, bus *run.CountingBus, why error) error {
	r, err := m.role(store, bus)
	if err != nil {
		return err
	}
	reason, _ := m.toLeave()
	r.End = protocol.Fail(protocol.ClassQuorum, "%s", reason)
	r.Notify = func(n protocol.Notice) { logNotice(m.Log, n, bus) }
	if err := r.Run(ctx); protocol.ClassOf(err) != protocol.ClassQuorum {
		return err
	}
	return why
}

// role assembles the role from the configuration.
func (m *Member) role(store host.Store, bus *run.CountingBus) (*run.Role, error) {
	own, err := m.Config.Budget.budget()
	if err != nil {
		return nil, err
	}
	t := m.Config.Timing
	r := &run.Role{Session: m.Session, Key: m.Key, Store: store, Bus: bus, Rand: rand.Reader,
		Resend: t.Resend.Duration, GiveUp: t.GiveUp.Duration, IdleTimeout: t.Idle.Duration,
		Model: m.work.scorer.model(m.watcher.curve.model(m.work.model)), Origin: m.work.origin,
		App: m.watcher.curve.application(m.work.app), Proposer: m.work.proposer,
		Ledger: run.NewLedger(m.Session, new(ledger.Ledger), own)}
	if m.Workers == 0 {
		return r, nil
	}
	if err := m.Config.EnsureWorkerKeys(m.Workers); err != nil {
		return nil, err
	}
	r.Group, err = m.Config.workerGroup(m.Workers)
	return r, err
}

// logNotice logs an event. Nothing in it depends on the data.
func logNotice(log *slog.Logger, n protocol.Notice, bus *run.CountingBus) {
	attrs := []any{"event", string(n.Code), "sent_bytes", bus.Sent()}
	for _, a := range []struct {
		key string
		v   any
		has bool
	}{
		{"round", n.Round, n.Round > 0}, {"attempt", n.Attempt, n.Attempt > 0}, {"peer", n.Peer, n.Peer != ""},
		{"count", n.Count, n.Total > 0 || n.Count > 0}, {"total", n.Total, n.Total > 0},
		{"detail", n.Detail, n.Detail != ""},
	} {
		if a.has {
			attrs = append(attrs, a.key, a.v)
		}
	}
	level := slog.LevelInfo
	if n.Err != nil {
		attrs = append(attrs, "error", n.Err.Error())
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, string(n.Code), attrs...)
}
