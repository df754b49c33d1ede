package member

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"choir/host/status"
	"choir/internal/disk"
	"choir/protocol"
)

// Times of a member whose disk is full.
const (
	roomPoll   = 2 * time.Second // the first wait, doubled with each try that ends for want of room
	roomWait   = time.Minute     // the longest wait
	roomReport = time.Minute
)

// Run connects and runs the role to the end of the session. Called again after a crash, with the same
// store, it resumes. While there is no room on the disk of the store or of the results it waits, and then
// goes on.
func (m *Member) Run(ctx context.Context) error {
	release, err := m.Config.hold()
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // the process's end releases it, too
	return m.run(ctx)
}

// run is Run for a process that has the lock of the member's store.
func (m *Member) run(ctx context.Context) error { return m.whileFull(ctx, m.runOnce) }

// whileFull calls run again while it ends for want of room. There may be room for a small file and none for
// what run writes, so that it waits longer each time.
func (m *Member) whileFull(ctx context.Context, run func(context.Context) error) error {
	for wait := roomPoll; ; wait = min(2*wait, roomWait) {
		begun := time.Now()
		err := run(ctx)
		if time.Since(begun) > roomWait {
			wait = roomPoll // it has worked meanwhile
		}
		if ctx.Err() != nil || !disk.IsFull(err) || !m.awaitRoom(ctx, err, wait) {
			return err
		}
	}
}

// fullPage serves what the member waits for in the place of its status page, if it has one.
func (m *Member) fullPage(ctx context.Context) (address string, shut func()) {
	if m.Config.Station.Listen == "" {
		return "", func() {}
	}
	address, shut, err := status.Listen(ctx, m.Config.Station.Listen,
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no room on the disk: make room, and this member goes on by itself",
				http.StatusServiceUnavailable)
		}))
	if err != nil {
		m.Log.Warn("status page", "event", "disk-full", "error", err.Error())
		return "", func() {}
	}
	return address, shut
}

// awaitRoom waits until files can be written again, and at least for a time. It returns false if the context
// ends first.
func (m *Member) awaitRoom(ctx context.Context, why error, least time.Duration) bool {
	_, shut := m.fullPage(ctx)
	defer shut()
	begun, reported := time.Now(), time.Time{}
	for {
		if time.Since(reported) >= roomReport {
			reported = time.Now()
			m.Log.Error("no room on the disk: "+why.Error()+"; make room, and this member goes on by itself",
				"event", "disk-full", "tried_again_in", least.String())
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(roomPoll):
		}
		if time.Since(begun) >= least && m.hasRoom() {
			m.Log.Info("there is some room on the disk: trying again", "event", "disk-room")
			return true
		}
	}
}

// hasRoom reports whether files can be written where the member writes.
func (m *Member) hasRoom() bool {
	if out := m.Config.OutDir; out != "" && !disk.HasRoom(out) {
		return false
	}
	return disk.HasRoom(filepath.Dir(m.Config.StoreFile))
}

// brokerFull logs that the broker is full or at a limit, or goes on.
func (m *Member) brokerFull(full bool, why error) {
	m.blocked.note(&m.blocked.full, full)
	if !full {
		m.Log.Info("the broker goes on", "event", "broker-room")
		return
	}
	m.Log.Error("the broker has no room or is at a limit, and the session waits: make room on its disk, or "+
		"raise the limit of the stream, the account or the server", "event", "broker-full", "error", why.Error())
}

// blockade is since when a member cannot send, zero if it can.
type blockade struct {
	mu         sync.Mutex
	full, away time.Time
}

func (b *blockade) note(which *time.Time, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !is:
		*which = time.Time{}
	case which.IsZero():
		*which = time.Now()
	}
}

// overdue reports whether a member that cannot send has waited until every other member has left the
// session, for the plan has expired.
func (b *blockade) overdue(plan *protocol.Plan, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, since := range []time.Time{b.full, b.away} {
		if !since.IsZero() && now.UnixMilli() >= plan.Leaves(since.UnixMilli()) {
			return true
		}
	}
	return false
}
