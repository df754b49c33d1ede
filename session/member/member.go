package member

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"choir/crypto/identity"
	"choir/host"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
)

// Member is one role of a deployment, checked and ready to run.
type Member struct {
	Config  *Config
	Signed  *protocol.SignedPlan
	Session protocol.BoundPlan
	Index   uint32
	Key     *identity.PrivateKey
	Log     *slog.Logger
	// LeaveAfter ends a party, without a word, once so many rounds are settled: how
	// a demonstration shows a drop-out. 0: never.
	LeaveAfter uint32
	// Workers is how many worker processes a compute node shares its work out to; see
	// MemberWorker. 0: none.
	Workers int

	work   *work
	suffix string // of the name at the broker
}

// work is what differs by role.
type work struct {
	model    protocol.Model
	app      protocol.Application
	proposer protocol.Proposer
}

// OpenMember checks everything that can be checked before a connection is
// made: the plan is signed by all, in time and holds what it claims; the key is
// on its roster in this role; the card hasn't expired; the data fits. What was
// altered, isn't signed or has expired is of protocol.ClassIntegrity, what
// doesn't fit of protocol.ClassInput.
func Open(c *Config, role protocol.Role, log *slog.Logger, now time.Time) (*Member, error) {
	if err := c.Validate(role); err != nil {
		return nil, err
	}
	sp, err := terms.ReadPlan(c.PlanFile)
	if err != nil {
		return nil, err
	}
	if err := sp.Complete(now); err != nil {
		return nil, err
	}
	if err := terms.CheckPlan(sp.Plan); err != nil {
		return nil, err
	}
	m := &Member{Config: c, Signed: sp, Session: protocol.Bind(sp.Plan)}
	if m.Key, err = terms.ReadKey(c.KeyFile, c.PassphraseFile); err != nil {
		return nil, err
	}
	if m.Index, err = sp.Member(m.Key.Public(), role); err != nil {
		return nil, err
	}
	if err := m.checkCard(now); err != nil {
		return nil, err
	}
	m.Log = log.With("role", role.String(), "member", m.Session.Name(m.Index), "plan", m.Session.ID.Short())
	if err := m.bus().Validate(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	return m, m.prepare(role)
}

// checkCard: the identity counts until its roster entry and its own card say.
func (m *Member) checkCard(now time.Time) error {
	if now.Unix() > m.Signed.Plan.Members[m.Index].NotAfter {
		return protocol.Fail(protocol.ClassIntegrity, "plan: %w: the identity of %s", protocol.ErrExpired, m.Session.Name(m.Index))
	}
	if m.Config.CardFile == "" {
		return nil
	}
	card, err := terms.ReadCard(m.Config.CardFile, now)
	if err != nil {
		return err
	}
	if card.Key != m.Key.Public() {
		return protocol.Fail(protocol.ClassIntegrity, "card %s: it shows another key than the key file", m.Config.CardFile)
	}
	return nil
}

func (m *Member) bus() natsbus.Config {
	b := m.Config.bus(m.Session, m.Index)
	b.Name += m.suffix
	return b
}

func (m *Member) prepare(role protocol.Role) (err error) {
	m.work = &work{}
	switch role {
	case protocol.RoleParty:
		m.work.app, m.work.proposer, err = m.application()
	case protocol.RoleAggregator:
		if err := writable(m.Config.OutDir); err != nil {
			return protocol.Fail(protocol.ClassInput, "config: out_dir: %w", err)
		}
		m.work.model, err = app.NewModel(m.Session.Plan)
	}
	return err
}

// writable makes a folder, for its owner only unless it is there already, and tries
// whether files can be made in it: better now than when there is a result.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".choir.*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Run connects and drives the role to the session's end. Called again after a
// crash, with the same store, it goes on where the last life stopped.
func (m *Member) Run(ctx context.Context) error {
	store, err := m.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	bus, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	err = m.drive(ctx, store, bus)
	m.Log.Info("stopped", "event", "stopped", "sent_bytes", bus.Sent())
	if err == nil && m.Session.Plan.Is(m.Index, protocol.RoleAggregator) {
		return m.writeOutputs(store)
	}
	return err
}

// connect reaches the broker and makes sure that the plan's stream is there. The
// limit is no deadline of the context: one request that was lost with a broker
// that died would otherwise be waited for until then.
func (m *Member) connect(ctx context.Context) (*run.CountingBus, error) {
	wait := m.Config.Timing.Connect.Duration
	if wait == 0 {
		wait = time.Minute
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(wait, cancel).Stop()
	defer m.reportWait()()
	bus, err := natsbus.Open(limited, m.bus())
	opened := err == nil
	if opened {
		if err = bus.EnsureStream(limited); err != nil {
			err = errors.Join(err, bus.Close())
		}
	}
	switch {
	case err == nil:
		m.Log.Info("connected", "event", "connected")
		return &run.CountingBus{Bus: bus}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, protocol.Fail(protocol.ClassAuth, "bus: %s: not reached within %s: %w", m.Config.Bus.URL, wait, lastAttempt(err))
	case errors.Is(err, transport.ErrAuth):
		return nil, protocol.Fail(protocol.ClassAuth, "bus: %s: %w", m.Config.Bus.URL, err)
	case !opened: // a broker that isn't there is tried again until the limit: some setting is of no use
		return nil, protocol.Fail(protocol.ClassInput, "bus: %w", err)
	}
	return nil, fmt.Errorf("bus: %w", err)
}

// errDeparted ends a party that was told to leave.
var errDeparted = errors.New("left the session")

func (m *Member) drive(ctx context.Context, store host.Store, bus *run.CountingBus) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	own, err := m.Config.Budget.budget()
	if err != nil {
		return err
	}
	t := m.Config.Timing
	r := &run.Role{Session: m.Session, Key: m.Key, Store: store, Bus: bus, Rand: rand.Reader,
		Resend: t.Resend.Duration, GiveUp: t.GiveUp.Duration, IdleTimeout: t.Idle.Duration,
		Model: m.work.model, App: m.work.app, Proposer: m.work.proposer, Ledger: run.NewLedger(m.Session, new(ledger.Ledger), own)}
	if m.Workers > 0 {
		if err := m.Config.EnsureWorkerKey(); err != nil {
			return err
		}
		if r.Group, err = m.Config.WorkerGroup(m.Workers); err != nil {
			return err
		}
	}
	watch, stopped, err := m.watch(ctx)
	if err != nil {
		return err
	}
	r.Notify = func(n protocol.Notice) {
		logNotice(m.Log, n, bus)
		watch(n)
		if m.LeaveAfter > 0 && n.Code == protocol.NoteResult && n.Round >= m.LeaveAfter {
			leave(errDeparted)
		}
	}
	err = r.Run(ctx)
	stopped(err)
	if errors.Is(err, errDeparted) {
		return nil
	}
	if errors.Is(err, transport.ErrAuth) {
		return protocol.Fail(protocol.ClassAuth, "%w", err)
	}
	return err
}

// logNotice is one line about one event. Nothing in it comes from data.
func logNotice(log *slog.Logger, n protocol.Notice, bus *run.CountingBus) {
	attrs := []any{"event", string(n.Code), "sent_bytes", bus.Sent()}
	for _, a := range []struct {
		key string
		v   any
		has bool
	}{
		{"round", n.Round, n.Round > 0}, {"attempt", n.Attempt, n.Attempt > 0}, {"peer", n.Peer, n.Peer != ""},
		{"count", n.Count, n.Total > 0 || n.Count > 0}, {"total", n.Total, n.Total > 0}, {"detail", n.Detail, n.Detail != ""},
	} {
		if a.has {
			attrs = append(attrs, a.key, a.v)
		}
	}
	level := slog.LevelInfo
	if n.Err != nil {
		attrs, level = append(attrs, "error", n.Err.Error()), slog.LevelWarn
	}
	log.Log(context.Background(), level, string(n.Code), attrs...)
}
