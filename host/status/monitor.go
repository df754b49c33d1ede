package status

import (
	"slices"
	"sync"
	"time"

	"choir/protocol"
)

// schemaVersion is that of Status.
const schemaVersion = 1

// maxEvents bounds the list of the latest events.
const maxEvents = 20

// Config names the member that a Monitor follows.
type Config struct {
	Session protocol.BoundPlan
	Member  uint32           // index in the roster
	Workers int              // of a compute node; 0: it has none
	Now     func() time.Time // nil: time.Now
}

// Monitor keeps a member's progress. Its methods may be called by several goroutines.
type Monitor struct {
	cfg     Config
	figures *figures

	mu       sync.Mutex
	status   Status
	returned map[string]bool // peers that have returned in this attempt
	opened   time.Time       // when this attempt opened
	progress time.Time       // when the session last moved
	events   []Event         // the newest last
	history  []Attempt       // the newest last
	members  members

	contributed, agreed, revealed bool // in this attempt
}

// Status is what the page shows. Counts are of the present attempt.
type Status struct {
	SchemaVersion int    `json:"schema_version"`
	Plan          string `json:"plan"`             // the plan's short name
	Name          string `json:"name"`             // the plan's title
	Member        string `json:"member"`           // the member's name
	Role          string `json:"role"`             // party, compute or aggregator
	State         string `json:"state"`            // joining, working, completed or stopped
	Advice        string `json:"advice,omitempty"` // for the member itself; empty: none
	Problem       string `json:"problem"`          // why it stopped; empty while it runs and after success
	Round         uint32 `json:"round"`
	Attempt       uint32 `json:"attempt"`
	Rounds        uint32 `json:"rounds"`   // of the plan
	Settled       uint32 `json:"settled"`  // rounds that are over
	Channels      int    `json:"channels"` // set up
	// Returned are, at a party, the nodes that hold its contribution, and at a compute node the
	// parties whose contribution it holds.
	Returned  []string  `json:"returned"`
	Expected  int       `json:"expected"` // length of Returned when complete
	Refused   int       `json:"refused"`  // messages, since the start
	Started   time.Time `json:"started"`
	LastEvent time.Time `json:"last_event"`
	Events    []Event   `json:"events"` // the last 20, newest first

	Now             time.Time  `json:"now"`
	Connected       bool       `json:"connected"` // to the broker
	ConnectionSince time.Time  `json:"connection_since"`
	Disconnections  int        `json:"disconnections"`
	Peers           []Peer     `json:"peers"`         // the other members
	Missing         []string   `json:"missing"`       // those that were not heard of for half a minute
	Waiting         []string   `json:"waiting"`       // for whom this member waits
	WaitingSince    *time.Time `json:"waiting_since"` // null: it does not wait
	Overdue         bool       `json:"overdue"`       // nothing moved past the plan's deadline and grace
	Needs           []string   `json:"needs"`         // what a person should look at
	Attempts        []Attempt  `json:"attempts"`      // the last 20, newest first
	Terms           Terms      `json:"terms"`
	Expires         time.Time  `json:"expires"` // the plan
	Budget          *Budget    `json:"budget"`  // a party's; null: the plan claims no epsilon
	Data            []string   `json:"data"`    // what the encoding did to this party's file
	// Evaluations is the learning curve since the member's start; null: the plan has none, or none yet.
	Evaluations []Evaluation `json:"evaluations"`
}

// Terms are the plan's, in short.
type Terms struct {
	Application string  `json:"application"`
	Parties     int     `json:"parties"`
	MinParties  uint32  `json:"min_parties"`
	Nodes       int     `json:"nodes"`
	Epsilon     float64 `json:"epsilon"` // 0: none is claimed
	Delta       float64 `json:"delta"`
}

// Budget is what a party's ledger has spent, and its limit.
type Budget struct {
	Spent float64 `json:"spent"` // epsilon of all charges, at Delta
	Limit float64 `json:"limit"`
	Delta float64 `json:"delta"`
}

// Attempt is an attempt that is over.
type Attempt struct {
	Round   uint32  `json:"round"`
	Attempt uint32  `json:"attempt"`
	Outcome string  `json:"outcome"`
	Parties int     `json:"parties"` // that were counted
	Seconds float64 `json:"seconds"` // from its opening here; 0: it was not seen
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

// New returns the Monitor of a member that starts now.
func New(cfg Config) *Monitor {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := cfg.Session.Plan
	role := p.Members[cfg.Member].Role
	now := cfg.Now()
	m := &Monitor{cfg: cfg, returned: map[string]bool{}, figures: newFigures(role.String()), progress: now,
		members: newMembers(cfg)}
	m.status = Status{
		SchemaVersion: schemaVersion,
		Plan:          cfg.Session.ID.Short(),
		Name:          p.Name,
		Member:        cfg.Session.Name(cfg.Member),
		Role:          role.String(),
		State:         "joining",
		Rounds:        p.Rounds,
		Started:       now,
		LastEvent:     now,

		ConnectionSince: now,
		Terms: Terms{Application: p.Application, Parties: p.Parties(), MinParties: p.MinParties,
			Nodes: p.Computes(), Epsilon: p.Epsilon, Delta: p.Delta},
	}
	if p.NotAfter != 0 {
		m.status.Expires = time.Unix(p.NotAfter, 0)
		m.figures.expires.set(float64(p.NotAfter))
	}
	m.figures.last.set(float64(now.UnixMilli()) / 1e3)
	switch role {
	case protocol.RoleParty:
		m.status.Expected = p.Computes()
	case protocol.RoleCompute:
		m.status.Expected = p.Parties()
	}
	m.figures.rounds.set(float64(p.Rounds))
	return m
}

// Notify records a notice.
func (m *Monitor) Notify(n protocol.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.cfg.Now()
	m.status.LastEvent = now
	m.figures.last.set(float64(now.UnixMilli()) / 1e3)
	if n.Code != protocol.NoteRefused {
		m.progress = now
		m.members.reported = time.Time{}
	}
	m.note(n, now)
	e := Event{
		Time:    now,
		Event:   string(n.Code),
		Round:   n.Round,
		Attempt: n.Attempt,
		Peer:    n.Peer,
		Detail:  n.Detail,
	}
	if n.Err != nil {
		e.Error = n.Err.Error()
	}
	if n.Code != protocol.NoteHeld { // one event per party would push out all others
		m.events = append(m.events, e)
		m.events = m.events[max(0, len(m.events)-maxEvents):]
	}
}

func (m *Monitor) note(n protocol.Notice, now time.Time) {
	f, since := m.figures, now.Sub(m.opened).Seconds()
	switch n.Code {
	case protocol.NoteJoined:
		m.status.Channels++
		f.channels.set(float64(m.status.Channels))
	case protocol.NoteRound:
		m.open(n, now)
	case protocol.NoteContributed:
		m.contributed = true
		f.phases.observe("contribute", since)
	case protocol.NoteReceipt, protocol.NoteHeld:
		m.returned[n.Peer] = true
		f.returned.set(float64(len(m.returned)))
		f.contributions.inc("")
	case protocol.NoteAgreed:
		m.agreed = true
		f.phases.observe("agree", since)
	case protocol.NoteRevealed:
		m.revealed = true
		f.phases.observe("reveal", since)
	case protocol.NoteDisagree:
		f.disagreements.inc("")
	case protocol.NoteRefused:
		m.status.Refused++
		f.refused.inc("")
	case protocol.NoteResult, protocol.NoteUncounted:
		m.result(n, since)
	case protocol.NoteCompleted:
		m.status.State = "completed"
		m.status.Settled = m.status.Rounds
	}
}

func (m *Monitor) open(n protocol.Notice, now time.Time) {
	m.status.State = "working"
	m.status.Round = n.Round
	m.status.Attempt = n.Attempt
	m.opened = now
	m.contributed = false
	m.agreed = false
	m.revealed = false
	clear(m.returned)
	m.figures.round.set(float64(n.Round))
	m.figures.attempt.set(float64(n.Attempt))
	m.figures.returned.set(0)
}

// result ends an attempt. A member that joined late receives results of attempts that it
// did not see open: those have an outcome, but no duration.
func (m *Monitor) result(n protocol.Notice, since float64) {
	outcome := n.Detail
	if n.Code == protocol.NoteUncounted {
		outcome = "uncounted"
	}
	m.figures.results.inc(outcome)
	a := Attempt{Round: n.Round, Attempt: n.Attempt, Outcome: outcome, Parties: n.Count}
	if n.Round == m.status.Round && n.Attempt == m.status.Attempt && !m.opened.IsZero() {
		m.figures.phases.observe("result", since)
		a.Seconds = since
	}
	if n.Code == protocol.NoteResult {
		m.history = append(m.history, a)
		m.history = m.history[max(0, len(m.history)-maxEvents):]
	}
	if n.Detail != protocol.OutcomeVoid.String() {
		m.status.Settled = max(m.status.Settled, n.Round)
		m.figures.settled.set(float64(m.status.Settled))
		m.figures.counted.set(float64(n.Count))
	}
}

// Stopped records that the member has ended; err is nil after success.
func (m *Monitor) Stopped(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.status.State != "completed" {
		m.status.State = "stopped"
	}
	if err != nil {
		m.status.State = "stopped"
		m.status.Problem = err.Error()
	}
	m.status.LastEvent = m.cfg.Now()
}

// Advise shows the member a piece of advice; empty takes it back.
func (m *Monitor) Advise(advice string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Advice = advice
}

// Status returns a copy of the present status.
func (m *Monitor) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.status
	m.view(&v)
	v.Events = append([]Event{}, m.events...)
	slices.Reverse(v.Events)
	v.Attempts = append([]Attempt{}, m.history...)
	slices.Reverse(v.Attempts)
	v.Data = append([]string{}, v.Data...)
	return v
}

// Spent records what a party's ledger has spent.
func (m *Monitor) Spent(b Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Budget = &b
	m.figures.spent.set(b.Spent)
	m.figures.budget.set(b.Limit)
}

// Data shows the party what the encoding did to its file.
func (m *Monitor) Data(lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Data = lines
}
