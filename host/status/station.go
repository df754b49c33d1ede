package status

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"choir/protocol"
)

// SchemaVersion is that of Status.
const SchemaVersion = 1

// maxEvents bounds the page's list of what happened last.
const maxEvents = 20

// Config says whose station it is.
type Config struct {
	Session protocol.BoundPlan
	Member  uint32
	Now     func() time.Time // nil: time.Now
}

// Station keeps what is known of a member's progress. Its methods may be called by
// several goroutines.
type Station struct {
	cfg     Config
	figures *figures

	mu       sync.Mutex
	status   Status
	returned map[string]bool // peers heard of in this attempt
	opened   time.Time       // this attempt
	events   []Event         // the newest last
}

// Status is what the page shows. Counts are of the present attempt.
type Status struct {
	SchemaVersion int       `json:"schema_version"`
	Plan          string    `json:"plan"`    // the plan's short name
	Name          string    `json:"name"`    // the plan's title
	Member        string    `json:"member"`  // who this is
	Role          string    `json:"role"`    // party, compute or aggregator
	State         string    `json:"state"`   // joining, working, completed or stopped
	Problem       string    `json:"problem"` // why it stopped; empty while it runs or when all went well
	Round         uint32    `json:"round"`
	Attempt       uint32    `json:"attempt"`
	Rounds        uint32    `json:"rounds"`   // of the plan
	Settled       uint32    `json:"settled"`  // rounds that are over
	Channels      int       `json:"channels"` // set up
	Returned      []string  `json:"returned"` // party: nodes with its contribution; compute: parties whose contribution is here
	Expected      int       `json:"expected"` // of those
	Refused       int       `json:"refused"`  // messages, since the start
	Started       time.Time `json:"started"`
	LastEvent     time.Time `json:"last_event"`
	Events        []Event   `json:"events"` // the last 20, newest first
}

// Event is a line of the page.
type Event struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Round   uint32    `json:"round,omitempty"`
	Attempt uint32    `json:"attempt,omitempty"`
	Peer    string    `json:"peer,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// New makes a member's station.
func New(cfg Config) *Station {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := cfg.Session.Plan
	role := p.Members[cfg.Member].Role
	s := &Station{cfg: cfg, returned: map[string]bool{}, figures: newFigures(role.String())}
	s.status = Status{SchemaVersion: SchemaVersion, Plan: cfg.Session.ID.Short(), Name: p.Name, Member: cfg.Session.Name(cfg.Member), Role: role.String(),
		State: "joining", Rounds: p.Rounds, Started: cfg.Now(), LastEvent: cfg.Now()}
	switch role {
	case protocol.RoleParty:
		s.status.Expected = p.Computes()
	case protocol.RoleCompute:
		s.status.Expected = p.Parties()
	}
	s.figures.rounds.Set(float64(p.Rounds))
	return s
}

// Notify takes a notice in.
func (s *Station) Notify(n protocol.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	s.status.LastEvent = now
	s.figures.last.Set(float64(now.UnixMilli()) / 1e3)
	s.note(n, now)
	e := Event{Time: now, Event: string(n.Code), Round: n.Round, Attempt: n.Attempt, Peer: n.Peer, Detail: n.Detail}
	if n.Err != nil {
		e.Error = n.Err.Error()
	}
	if n.Code != protocol.NoteHeld { // a line a party would push out everything else
		s.events = append(s.events, e)
		s.events = s.events[max(0, len(s.events)-maxEvents):]
	}
}

func (s *Station) note(n protocol.Notice, now time.Time) {
	f, since := s.figures, now.Sub(s.opened).Seconds()
	switch n.Code {
	case protocol.NoteJoined:
		s.status.Channels++
		f.channels.Set(float64(s.status.Channels))
	case protocol.NoteRound:
		s.open(n, now)
	case protocol.NoteContributed:
		f.phase("contribute").Observe(since)
	case protocol.NoteReceipt, protocol.NoteHeld:
		s.returned[n.Peer] = true
		f.returned.Set(float64(len(s.returned)))
		f.contributions.Inc()
	case protocol.NoteAgreed:
		f.phase("agree").Observe(since)
	case protocol.NoteRevealed:
		f.phase("reveal").Observe(since)
	case protocol.NoteDisagree:
		f.disagreements.Inc()
	case protocol.NoteRefused:
		s.status.Refused++
		f.refused.Inc()
	case protocol.NoteResult, protocol.NoteUncounted:
		s.result(n, since)
	case protocol.NoteCompleted:
		s.status.State, s.status.Settled = "completed", s.status.Rounds
	}
}

func (s *Station) open(n protocol.Notice, now time.Time) {
	s.status.State, s.status.Round, s.status.Attempt, s.opened = "working", n.Round, n.Attempt, now
	clear(s.returned)
	s.figures.round.Set(float64(n.Round))
	s.figures.attempt.Set(float64(n.Attempt))
	s.figures.returned.Set(0)
}

// result ends an attempt. A member that came late hears of attempts that it never
// saw opened: they have an outcome, but no duration.
func (s *Station) result(n protocol.Notice, since float64) {
	outcome := n.Detail
	if n.Code == protocol.NoteUncounted {
		outcome = "uncounted"
	}
	s.figures.results.WithLabelValues(outcome).Inc()
	if n.Round == s.status.Round && n.Attempt == s.status.Attempt && !s.opened.IsZero() {
		s.figures.phase("result").Observe(since)
	}
	if n.Detail != protocol.OutcomeVoid.String() {
		s.status.Settled = max(s.status.Settled, n.Round)
		s.figures.settled.Set(float64(s.status.Settled))
		s.figures.counted.Set(float64(n.Count))
	}
}

// Stopped says that the member has ended; nil: as it should.
func (s *Station) Stopped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.State != "completed" {
		s.status.State = "stopped"
	}
	if err != nil {
		s.status.State, s.status.Problem = "stopped", err.Error()
	}
	s.status.LastEvent = s.cfg.Now()
}

// Status is a copy of what is known now.
func (s *Station) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.status
	v.Returned = slices.SortedFunc(maps.Keys(s.returned), cmp.Compare[string])
	v.Events = slices.Clone(s.events)
	slices.Reverse(v.Events)
	return v
}
