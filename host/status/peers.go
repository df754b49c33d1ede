package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"choir/protocol"
)

// Times in which others are noticed.
const (
	// announceEvery is the time between two announcements of a member, for up to 200 members.
	announceEvery = 10 * time.Second
	// missedAnnouncements is how many in a row make a member missing.
	missedAnnouncements = 3
	// quiet is the time without progress after which a round counts as waiting.
	quiet = 30 * time.Second
	// repeatWaiting is the time between two reports of the same wait.
	repeatWaiting = 5 * time.Minute
	// slack is added to a plan's deadline and grace before a member counts as overdue.
	slack = 30 * time.Second
)

// Peer is what is known of another member. Nothing of it decides anything in the protocol.
type Peer struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	State   string     `json:"state"`             // as in Status, or "unheard"
	Round   uint32     `json:"round"`             // at that member
	Settled uint32     `json:"settled"`           // at that member
	Heard   *time.Time `json:"heard"`             // when it was last heard of; null: never
	Missing bool       `json:"missing"`           // for at least half a minute
	Waiting []string   `json:"waiting,omitempty"` // the members for whom it waits
	Note    string     `json:"note,omitempty"`    // why it has ended
}

// Change is news about who is there, for the log.
type Change struct {
	Event   string // missing, back or waiting
	Peer    string
	Since   time.Time
	Message string
}

// members keeps the peers of a Monitor, whose mutex guards it.
type members struct {
	peers    []*Peer // all but the member itself, in the roster's order
	byName   map[string]*Peer
	index    map[string]uint32 // in the roster, by name
	hears    bool              // the member hears its own announcements, so the others' arrive, too
	since    time.Time         // when it first did, or when the connection came back
	reported time.Time         // when a wait was last reported
	silent   bool              // the member is not told of parties
	every    time.Duration
}

// manyMembers is the number of members above which parties are told of nodes and the aggregator
// only, and announcements become rarer.
const manyMembers = 200

// Interval returns the time between two announcements in a plan.
func Interval(p *protocol.Plan) time.Duration {
	return announceEvery * time.Duration(1+len(p.Members)/manyMembers)
}

func newMembers(cfg Config) members {
	p := cfg.Session.Plan
	m := members{byName: map[string]*Peer{}, index: map[string]uint32{}, every: Interval(p),
		silent: len(p.Members) > manyMembers && p.Is(cfg.Member, protocol.RoleParty)}
	for i, other := range p.Members {
		if uint32(i) == cfg.Member || m.silent && other.Role == protocol.RoleParty {
			continue
		}
		peer := &Peer{Name: other.Name, Role: other.Role.String(), State: "unheard"}
		m.peers = append(m.peers, peer)
		m.byName[other.Name] = peer
		m.index[other.Name] = uint32(i)
	}
	return m
}

// Heard records what another member has announced of itself, or the member's own announcement.
func (m *Monitor) Heard(p Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Now()
	if p.Name == m.status.Member {
		if !m.members.hears {
			m.members.since = now
		}
		m.members.hears = true
		return
	}
	peer := m.members.byName[p.Name]
	if peer == nil {
		return
	}
	role, missing := peer.Role, peer.Missing
	*peer = p
	peer.Role, peer.Missing, peer.Heard = role, missing, &now
}

// Connected records that the connection to the broker was lost or is back.
func (m *Monitor) Connected(up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Now()
	switch {
	case up && m.status.Connected:
	case up:
		m.status.Connected = true
		m.members.since = now // no one was heard meanwhile
		m.figures.connected.set(1)
	default:
		m.status.Connected = false
		m.status.Disconnections++
		m.figures.connected.set(0)
		m.figures.disconnections.inc("")
	}
	m.status.ConnectionSince = now
}

// Look notices who is missing or back and whether the round waits, and returns what has changed.
func (m *Monitor) Look() (news []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, missing := m.cfg.Now(), 0
	for _, p := range m.members.peers {
		if gone := m.gone(p, now); gone != p.Missing {
			p.Missing = gone
			news = append(news, m.change(p, now))
		}
		if p.Missing {
			missing++
		}
	}
	m.figures.missing.set(float64(missing))
	if w := m.waiting(now); w != nil && now.Sub(m.members.reported) >= repeatWaiting {
		m.members.reported = now
		news = append(news, *w)
	}
	return news
}

// gone reports whether a peer is missing: for three announcements it was not heard of, while the
// member was connected and heard itself.
func (m *Monitor) gone(p *Peer, now time.Time) bool {
	if !m.status.Connected || !m.members.hears || m.over() {
		return p.Missing
	}
	if p.State == "completed" {
		return false
	}
	return now.Sub(m.lastHeard(p)) > missedAnnouncements*m.members.every
}

// lastHeard is when a peer was last heard of, or since when it could have been.
func (m *Monitor) lastHeard(p *Peer) time.Time {
	if p.Heard == nil || p.Heard.Before(m.members.since) {
		return m.members.since
	}
	return *p.Heard
}

func (m *Monitor) over() bool { return m.status.State == "completed" || m.status.State == "stopped" }

func (m *Monitor) change(p *Peer, now time.Time) Change {
	if !p.Missing {
		return Change{"back", p.Name, now, p.Name + " is heard of again"}
	}
	since := m.members.since
	text := "was never heard of"
	if p.Heard != nil {
		since = *p.Heard
		text = "was last heard of at " + since.UTC().Format(time.RFC3339)
	}
	if p.Note != "" {
		text += ", and has ended: " + p.Note
	}
	return Change{"missing", p.Name, since, fmt.Sprintf("waiting for %s, which %s", p.Name, text)}
}

// waiting returns that nothing has moved for some time, and for whom the member waits; nil if
// something has.
func (m *Monitor) waiting(now time.Time) *Change {
	if m.over() || now.Sub(m.progress) < quiet {
		return nil
	}
	names := m.awaited()
	if len(names) == 0 {
		return nil
	}
	return &Change{"waiting", "", m.progress, fmt.Sprintf("waiting for %s since %s", list(names),
		m.progress.UTC().Format(time.RFC3339))}
}

// awaited are the members for whom this one waits: those that are missing, and in a round those
// that have not returned.
func (m *Monitor) awaited() (names []string) {
	wants := ""
	switch {
	case m.status.State != "working" || m.agreed:
	case m.status.Role == protocol.RoleParty.String() && m.contributed:
		wants = protocol.RoleCompute.String()
	case m.status.Role == protocol.RoleCompute.String():
		wants = protocol.RoleParty.String()
	}
	for _, p := range m.members.peers {
		switch {
		case p.Missing:
			names = append(names, p.Name)
		case p.Role == wants && !m.returned[p.Name]:
			names = append(names, p.Name+m.through(p.Name))
		}
	}
	if len(names) == 0 && m.cfg.Workers > 0 && m.agreed && !m.revealed {
		names = append(names, fmt.Sprintf("the sums of this node's %d workers, or another node", m.cfg.Workers))
	}
	return names
}

// through names the worker of this node that takes in a party's contribution: the party may be there and the
// worker gone.
func (m *Monitor) through(party string) string {
	if m.cfg.Workers == 0 {
		return ""
	}
	worker := protocol.WorkerOf(m.members.index[party], uint32(m.cfg.Workers))
	return fmt.Sprintf(" through this node's worker %d/%d", worker, m.cfg.Workers)
}

// maxListed bounds the names in a sentence.
const maxListed = 20

func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		names = append(slices.Clone(names[:maxListed]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// view adds what is known of the others to a status.
func (m *Monitor) view(v *Status) {
	now := m.cfg.Now()
	v.Now = now
	v.Returned = append([]string{}, slices.SortedFunc(maps.Keys(m.returned), cmp.Compare[string])...)
	v.Peers, v.Missing, v.Waiting = []Peer{}, []string{}, []string{}
	for _, p := range m.members.peers {
		v.Peers = append(v.Peers, *p)
		if p.Missing {
			v.Missing = append(v.Missing, p.Name)
		}
	}
	if !m.over() && (len(v.Missing) > 0 || now.Sub(m.progress) >= quiet) {
		since := m.progress
		v.Waiting, v.WaitingSince = append(v.Waiting, m.awaited()...), &since
	}
	v.Overdue = m.overdue(now)
	v.Needs = needs(v)
}

// overdue reports whether nothing has moved for longer than the plan lets a round wait.
func (m *Monitor) overdue(now time.Time) bool {
	p := m.cfg.Session.Plan
	limit := time.Duration(p.DeadlineMS)*time.Millisecond + time.Duration(p.GraceMS)*time.Millisecond + slack
	return !m.over() && now.Sub(m.progress) > limit
}

// needs lists what a person should look at.
func needs(v *Status) []string {
	needs := []string{}
	if v.Problem != "" {
		needs = append(needs, v.Problem)
	}
	if v.Advice != "" {
		needs = append(needs, v.Advice)
	}
	if !v.Connected && v.State != "completed" && v.State != "stopped" {
		needs = append(needs, "The broker is not reached since "+v.ConnectionSince.UTC().Format(time.RFC3339)+
			": look at the network and at the broker.")
	}
	if len(v.Missing) > 0 {
		needs = append(needs, "Missing: "+list(v.Missing)+". Ask there whether the member runs.")
	}
	if v.Overdue {
		needs = append(needs, "Nothing has moved for longer than the plan's deadline and grace.")
	}
	if left := v.Expires.Sub(v.Now); !v.Expires.IsZero() && v.State != "completed" && left < 24*time.Hour {
		verb := "expires"
		if left < 0 {
			verb = "expired"
		}
		needs = append(needs, "The plan "+verb+" at "+v.Expires.UTC().Format(time.RFC3339)+".")
	}
	return needs
}
