package member

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"choir/host"
	"choir/host/status"
	"choir/protocol"
	"choir/transport/natsbus"
)

// watcher follows a running member: it keeps the status page, tells the others that the member is
// there, notices who is not, and ends the member when it is to leave.
type watcher struct {
	*status.Monitor
	m     *Member
	store host.Store
	asked chan struct{} // a person wants to know at once who is here
	spent chan struct{} // the ledger has grown
	curve *curve
	heard hearing
	word  atomic.Pointer[string] // what the others hear about the end
	// announced is the time of this member's last announcement.
	announced int64
}

// watch starts a member's status page, if it has one. stopped receives the end of the session and
// stops the page.
func (m *Member) watch(ctx context.Context, store *host.Scoped) (stopped func(error), err error) {
	w := &watcher{Monitor: status.New(status.Config{Session: m.Session, Member: m.Index,
		Workers: m.Workers}), m: m, store: store,
		asked: make(chan struct{}, 1), spent: make(chan struct{}, 1)}
	w.curve = newCurve(m.Session.Plan, w.Evaluated)
	w.curve.past(m, store)
	m.watcher = w
	var data []string
	for _, a := range m.altered {
		data = append(data, a.String())
	}
	w.Data(data)
	w.showSpent()
	listen := m.Config.Station.Listen
	if listen == "" {
		return w.Stopped, nil
	}
	address, shut, err := w.Listen(ctx, listen)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: station.listen: %w", err)
	}
	if host, _, err := net.SplitHostPort(address); err != nil || !net.ParseIP(host).IsLoopback() {
		m.Log.Warn("whoever reaches the status page can read it: use a loopback address, or a proxy "+
			"that asks for a password", "event", "open-page", "address", address)
	}
	m.Log.Info("watchable", "event", "watchable", "address", address)
	return func(err error) {
		w.Stopped(err)
		shut()
	}, nil
}

// Stopped receives the end. Of a party's own failure, whose text may tell about its data, the others hear
// the class alone.
func (w *watcher) Stopped(err error) {
	if err != nil {
		word := err.Error()
		if w.m.Session.Plan.Is(w.m.Index, protocol.RoleParty) && !errors.Is(err, errAborted) {
			word = fmt.Sprintf("stopped with exit code %d", protocol.ClassOf(err))
		}
		w.word.Store(&word)
	}
	w.Monitor.Stopped(err)
}

// notify receives the member's notices.
func (w *watcher) notify(n protocol.Notice) {
	w.Notify(n)
	w.curve.notify(n)
	if n.Code == protocol.NoteContributed {
		select {
		case w.spent <- struct{}{}:
		default:
		}
	}
}

// connectionChanged logs that the connection to the broker was lost or is back.
func (m *Member) connectionChanged(up bool, why error) {
	m.blocked.note(&m.blocked.away, !up)
	if up {
		m.lost.end()
	} else {
		m.lost.begin(m)
	}
	if m.watcher != nil {
		m.watcher.Connected(up)
	}
	if up {
		m.Log.Info("reconnected", "event", "reconnected")
		return
	}
	attrs := []any{"event", "disconnected"}
	if why != nil {
		attrs = append(attrs, "error", why.Error())
	}
	text := "the broker is not reached: look at the network and at the broker"
	if m.losses = append(m.losses, time.Now()); len(m.losses) == manyLosses {
		if time.Since(m.losses[0]) < inQuickOrder {
			text = "the broker is reached and closes the connection again and again: its log has the reason; " +
				"where it is a slow consumer, give the server max_pending: 64MB, its default, or more"
		}
		m.losses = m.losses[1:]
	}
	m.Log.Warn(text, attrs...)
}

// manyLosses of a connection that was back in between within inQuickOrder have another cause than the
// network.
const (
	manyLosses   = 4
	inQuickOrder = 10 * time.Second
)

// Times between two looks of a watcher.
const (
	lookEvery  = 5 * time.Second
	spentEvery = 10 * time.Second
)

// run watches until the context ends; leave ends the member.
func (w *watcher) run(ctx context.Context, bus *natsbus.Bus, leave func(error)) {
	w.Connected(true)
	err := bus.Listen(w.hear)
	if err != nil {
		w.m.Log.Warn("announcements", "event", "presence", "error", err.Error())
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	interval := status.Interval(w.m.Session.Plan)
	var announced, looked, counted time.Time
	for {
		select {
		case <-ctx.Done():
			w.announce(bus)
			return
		case <-w.asked:
			announced = w.due(announced, time.Second, func() { w.announce(bus) })
		case <-tick.C:
			if reason, ok := w.m.toLeave(); ok {
				leave(leftError(reason))
			}
			if w.m.blocked.overdue(w.m.Session.Plan, time.Now()) {
				leave(protocol.Fail(protocol.ClassIntegrity, "%w while nothing could be sent to the broker",
					protocol.ErrExpired))
			}
			announced = w.due(announced, interval, func() { w.announce(bus) })
			looked = w.due(looked, lookEvery, w.report)
			counted = w.due(counted, spentEvery, w.count)
		}
	}
}

// due calls f if it was not called for some time, and returns when it last was.
func (w *watcher) due(last time.Time, every time.Duration, f func()) time.Time {
	if time.Since(last) < every {
		return last
	}
	f()
	return time.Now()
}

// report logs who is missing or back, and that the round waits.
func (w *watcher) report() {
	for _, c := range w.Look() {
		attrs := []any{"event", c.Event, "since", c.Since.UTC().Format(time.RFC3339)}
		if c.Peer != "" {
			attrs = append(attrs, "peer", c.Peer)
		}
		if c.Event == "back" {
			w.m.Log.Info(c.Message, attrs...)
		} else {
			w.m.Log.Warn(c.Message, attrs...)
		}
	}
}

// count shows what the ledger has spent, if it has grown.
func (w *watcher) count() {
	select {
	case <-w.spent:
		w.showSpent()
	default:
	}
}

func (w *watcher) showSpent() {
	p := w.m.Session.Plan
	if !p.Claims() || !p.Is(w.m.Index, protocol.RoleParty) {
		return
	}
	b := status.Budget{Limit: p.Epsilon, Delta: p.Delta}
	if own, err := w.m.Config.Budget.budget(); err == nil && own != nil {
		b.Limit, b.Delta = own.Epsilon, own.Delta
	}
	l, err := readLedger(w.store)
	if err != nil {
		return // Run ends with this error
	}
	if bound, err := l.Spent(b.Delta); err == nil {
		b.Spent = bound.Epsilon
		w.Spent(b)
	}
}

// leaveSuffix is that of the file, next to the store, whose text is why the member leaves its
// session for good.
const leaveSuffix = ".left"

// errAborted is the error of a member that has left its session for good.
var errAborted = errors.New("this member has left the session for good")

func leftError(reason string) error {
	return protocol.Fail(protocol.ClassQuorum, "%w: %s", errAborted, reason)
}

// Abort makes the member leave its session for good, whether it is running or not: it ends with the
// reason, and does not start again under this plan. The aggregator ends the session for all.
func (c *Config) Abort(plan protocol.BoundPlan, reason string) error {
	if strings.TrimSpace(reason) == "" || len(reason) > 256 || strings.ContainsAny(reason, "\r\n") {
		return protocol.Fail(protocol.ClassInput, "reason: want one line of 1 to 256 bytes")
	}
	if c.StoreFile == "" {
		return protocol.Fail(protocol.ClassInput, "config: store_file is missing")
	}
	if _, err := os.Stat(c.StoreFile); err != nil {
		return protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return os.WriteFile(c.leaveFile(plan), []byte(reason+"\n"), 0o600)
}

func (c *Config) leaveFile(plan protocol.BoundPlan) string {
	return c.StoreFile + "." + plan.ID.Short() + leaveSuffix
}

// toLeave returns why the member is to leave for good, if it is.
func (m *Member) toLeave() (reason string, ok bool) {
	b, err := os.ReadFile(m.Config.leaveFile(m.Session))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		return fmt.Sprintf("its file cannot be read: %v", err), true
	}
	return strings.TrimSpace(string(b)), true
}
