package mix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/protocol"
)

// Config configures a member.
type Config struct {
	Session protocol.BoundPlan
	Key     protocol.Signer
	Ledger  Ledger        // party: charges every report; nil: none is charged
	Rand    io.Reader     // crypto/rand.Reader in production
	View    protocol.View // the member's store
	// Model is what the aggregator folds each round's reports into, in the order of the list; nil: nothing.
	Model protocol.Model
	// Tamper alters what a dishonest party seals: for the nodes M..1 in layers 0..M-1, which are the
	// inner ones, and in layers M..2M-1. Nil: nothing is altered. It is for attacks.
	Tamper func(layer int, content []byte) []byte
	// ResendMS is the retransmit interval, in milliseconds; 0: 15 seconds.
	ResendMS int64
	// GiveUpMS ends the opening of a list after this time without progress, in milliseconds; the
	// round is then lost. 0: never.
	GiveUpMS int64
	// End, at the aggregator, ends the session for all members and for good with this reason; nil: it goes on.
	End error
}

// Ledger is a party's privacy ledger. It is asked once in each round, and the entry is stored in the
// same transaction as the report, before any byte of that is sent. See party.Ledger.
type Ledger interface {
	Charge(round, attempt uint32) (entry []byte, seq uint64, err error)
	Append(entry []byte) error
}

// role is what a member does besides keeping the attempt's messages.
type role interface {
	advance()                     // does everything that the attempt is ready for
	proposal(p protocol.Proposal) // parties only
	restore() error               // reads what only this role stores
	due() int64                   // when time alone leads to something; 0: never
}

// machine is a member of one plan.
type machine struct {
	cfg       Config
	s         protocol.BoundPlan
	self      uint32
	role      role
	at        *attempt
	state     state
	logged    uint32 // messages in the store's log
	own       map[slot]bool
	secrets   [][]byte // of the attempt
	behind    bool
	over      bool
	end       error
	now       int64
	wake      int64 // when it asked to be stepped next
	eff       protocol.Effects
	last      []protocol.Outgoing // own messages since the last progress
	progress  int64
	backoff   protocol.Backoff
	proposing bool
	early     early
	signed    [][]byte // the messages of the attempt that the store's log has
	// evidence is the refused message that shows the attempt's fault, nil if there is none, and shownAt how many
	// messages were accepted before it.
	evidence []byte
	shownAt  int
}

// state is what a member keeps beyond an attempt.
type state struct {
	round, attempt uint32 // of the newest attempt
	used           uint32 // attempts
	closed         uint32 // the last round that is over, or whose list this node has opened
}

// New returns a member's machine, which resumes from the view.
func New(cfg Config) (protocol.Machine, error) {
	self, ok := cfg.Session.Index(cfg.Key.Public())
	if !ok {
		return nil, protocol.Fail(protocol.ClassIntegrity, "mix-net: %w: this key is not on the roster",
			protocol.ErrUnknown)
	}
	if err := cfg.Session.Plan.CheckMix(); err != nil {
		return nil, err
	}
	if cfg.ResendMS == 0 {
		cfg.ResendMS = 15_000
	}
	m := &machine{cfg: cfg, s: cfg.Session, self: self, own: map[slot]bool{},
		backoff: protocol.Backoff{Base: cfg.ResendMS}}
	switch m.s.Plan.Members[self].Role {
	case protocol.RoleParty:
		m.role = &party{machine: m}
	case protocol.RoleCompute:
		m.role = &node{machine: m, k: int(self-m.s.Plan.Compute(0)) + 1}
	default:
		m.role = &aggregator{machine: m}
	}
	if err := m.restore(); err != nil {
		return nil, fmt.Errorf("mix-net: the store: %w", err)
	}
	return m, nil
}

// Step implements protocol.Machine.
func (m *machine) Step(now int64, ev protocol.Event) protocol.Effects {
	m.now = max(now, m.now)
	m.eff = protocol.Effects{}
	if m.over {
		m.eff.Finish(m.end)
		return m.eff
	}
	if m.wake > 0 && m.now-m.wake > stopped {
		m.waitAnew()
	}
	switch ev := ev.(type) {
	case protocol.Start:
		m.behind = ev.Behind
		m.resume()
	case protocol.CaughtUp:
		m.behind = false
		m.resume()
	case protocol.Delivery:
		m.deliver(ev.Data)
	case protocol.Proposal:
		m.role.proposal(ev)
	}
	if !m.behind && !m.over {
		m.role.advance()
	}
	if !m.over && m.now >= m.s.Plan.Leaves(m.progress) { // the aggregator is silent
		m.finish(protocol.Fail(protocol.ClassIntegrity, "%w: %d of %d rounds are over", protocol.ErrExpired,
			m.state.closed, m.s.Plan.Rounds))
	}
	m.retransmit()
	return m.eff
}

// resume sends the messages of the attempt again, since the process may have ended before.
func (m *machine) resume() {
	if end := m.cfg.View.Get("done"); end != nil {
		m.eff.Send = append(m.eff.Send, m.last...)
		m.finish(protocol.UnmarshalEnd(end))
		return
	}
	m.waitAnew()
	if !m.behind {
		m.eff.Send = append(m.eff.Send, m.last...)
	}
}

// stopped is how long after the time that it asked for a step shows that the process was stopped, ms. What
// other members sent meanwhile may not have been read yet, and they must not be taken as silent.
const stopped = 5_000

// waitAnew begins all waits for other members' messages again.
func (m *machine) waitAnew() {
	if m.at != nil {
		m.at.since = m.now
		for i := range m.at.knownAt {
			m.at.knownAt[i] = m.now
		}
	}
	m.progress = m.now
}

func (m *machine) retransmit() {
	if m.over || m.behind {
		return
	}
	wake := m.s.Plan.Leaves(m.progress)
	if due := m.role.due(); due != 0 {
		wake = min(wake, m.lookout(due))
	}
	if len(m.last) > 0 {
		at := m.backoff.Due(m.progress)
		if m.now >= at {
			m.eff.Send = append(m.eff.Send, m.last...)
			m.backoff.Retransmitted(m.now)
			at = m.backoff.Due(m.progress)
		}
		wake = min(wake, at)
	}
	m.eff.Wake = max(wake, m.now+1)
	m.wake = m.eff.Wake
}

// lookout returns when to step next on the way to the end of a wait. The last of it is in short steps, so
// that a process that was stopped before has time to read what has arrived.
func (m *machine) lookout(due int64) int64 {
	last := min(patience, int64(m.s.Plan.DeadlineMS))
	if m.now < due-last {
		return due - last
	}
	return min(due, m.now+max(last/10, 1))
}

func (m *machine) finish(err error) {
	m.over = true
	m.end = err
	m.eff.Finish(err)
}

// conclude ends the session for good: the member does not go on if it is started again.
func (m *machine) conclude(err error) {
	m.eff.Put("done", protocol.MarshalEnd(err))
	m.finish(err)
}

// deliver handles a message from the bus.
func (m *machine) deliver(data []byte) {
	e, msg, err := m.s.Receive(data)
	if err != nil {
		m.s.Refuse(&m.eff, e, err)
		return
	}
	if a, ok := msg.(*protocol.Abort); ok {
		if m.self != e.From {
			m.clear()
			m.conclude(a.Cause())
		}
		return
	}
	if e.From == m.self {
		m.echo(msg, data)
		return
	}
	if open, ok := msg.(*protocol.MixRound); ok {
		err = m.enter(open, data)
	} else {
		err = m.accept(e.From, msg, data)
	}
	m.s.Refuse(&m.eff, e, err)
	if r, ok := msg.(*protocol.MixResult); ok {
		m.settle(r, err)
	}
}

// settle ends the attempt with its result, or the session if the result is false.
func (m *machine) settle(r *protocol.MixResult, err error) {
	if errors.Is(err, protocol.ErrMismatch) {
		m.finish(protocol.Fail(protocol.ClassIntegrity, "%s: %w", m.s.Name(m.s.Plan.Aggregator()), err))
	}
	if err != nil {
		return
	}
	n := protocol.Notice{Code: protocol.NoteResult, Round: r.Round, Attempt: r.Attempt, Count: int(r.Count),
		Detail: r.Outcome.String()}
	if r.Outcome != protocol.OutcomeAccepted {
		n.Detail += ": " + r.Reason
		if r.Suspect != protocol.Everyone {
			n.Peer = m.s.Name(r.Suspect)
		}
	}
	m.eff.Note(n)
	m.clear()
	if r.Outcome != protocol.OutcomeVoid {
		m.state.closed = r.Round
		m.putState()
		m.eff.Put("settled", binary.BigEndian.AppendUint32(nil, r.Round))
	}
	if m.state.closed >= m.s.Plan.Rounds {
		m.eff.Note(protocol.Notice{Code: protocol.NoteCompleted})
		m.conclude(nil)
	}
}

// accept adds a message of the present attempt and stores it.
func (m *machine) accept(from uint32, msg protocol.Message, data []byte) error {
	round, number, sl, ok := place(from, msg)
	switch {
	case !ok:
		return fmt.Errorf("%w: it is not a message of the mix-net", protocol.ErrMismatch)
	case round < m.state.round || round == m.state.round && number < m.state.attempt:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, round, number)
	case m.at == nil && round == m.state.round && number == m.state.attempt:
		return protocol.ErrDuplicate // the attempt is settled
	case m.at == nil || round != m.at.round || number != m.at.attempt:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEarly, round, number)
	}
	if r, ok := msg.(*protocol.MixResult); ok && r.Outcome == protocol.OutcomeVoid && m.state.closed >= round {
		return fmt.Errorf("%w: a void attempt, of which this node has opened the list", protocol.ErrRevealed)
	}
	known := m.at.fault
	err := m.at.accept(from, msg, data, m.now)
	if err != nil && known == nil && m.at.fault != nil {
		m.evidence = data
		m.shownAt = len(m.signed)
	}
	if errors.Is(err, protocol.ErrEarly) && m.at.mayWait(msg) {
		return m.early.hold(sl, data)
	}
	if err != nil {
		return err
	}
	m.progress = m.now
	m.log("", data)
	for _, e := range m.early.take() {
		m.deliver(e)
	}
	return nil
}

// enter begins the attempt that the aggregator opened: forward only, and never a round that is over.
func (m *machine) enter(r *protocol.MixRound, data []byte) error {
	newest := m.state
	switch {
	case r.Round == newest.round && r.Attempt == newest.attempt:
		return m.again(r, data)
	case r.Round <= newest.closed:
		return fmt.Errorf("%w: round %d", protocol.ErrRevealed, r.Round)
	case r.Round < newest.round || r.Round == newest.round && r.Attempt < newest.attempt:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, r.Round, r.Attempt)
	case r.Round > newest.round+1 || r.Round > m.s.Plan.Rounds ||
		int64(newest.used) >= int64(m.s.Plan.Attempts()):
		return fmt.Errorf("%w: the plan has no such round, or no more attempts", protocol.ErrMismatch)
	}
	if _, _, err := channel.Initiate(m.s.Plan.Suite, r.Public, nil); err != nil {
		return fmt.Errorf("%w: %w", protocol.ErrMalformed, err)
	}
	m.begin(r)
	m.remember(r, data)
	m.log("", data)
	return nil
}

// again compares a message that opens the present attempt with the first one.
func (m *machine) again(r *protocol.MixRound, data []byte) error {
	if m.at == nil {
		return protocol.ErrDuplicate
	}
	_, _, sl, _ := place(m.s.Plan.Aggregator(), r)
	if m.at.seen[sl] == blake.Derive(entryContext, data) {
		return protocol.ErrDuplicate
	}
	return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEquivocate, r.Round, r.Attempt)
}

// begin replaces the attempt.
func (m *machine) begin(r *protocol.MixRound) {
	m.clear()
	m.state.round = r.Round
	m.state.attempt = r.Attempt
	m.state.used++
	m.putState()
	m.at = newAttempt(m.s, r, m.now)
	m.progress = m.now
	m.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: r.Round, Attempt: r.Attempt})
}

// clear deletes what the store has of the attempt and erases its secrets.
func (m *machine) clear() {
	for i := range m.logged {
		m.eff.Delete(logKey(i))
	}
	m.logged = 0
	m.signed = nil
	m.evidence = nil
	m.at = nil
	m.last = nil
	m.proposing = false
	m.early = early{}
	clear(m.own)
	m.setSecrets(nil)
}

// say signs a message, stores it and sends it.
func (m *machine) say(subject string, msg protocol.Message) {
	data, err := m.s.Sign(m.cfg.Key, m.self, msg)
	if err != nil {
		m.finish(err)
		return
	}
	if open, ok := msg.(*protocol.MixRound); ok {
		m.begin(open)
		m.remember(open, data)
	} else if err := m.at.accept(m.self, msg, data, m.now); err != nil {
		m.finish(fmt.Errorf("own message: %w", err))
		return
	}
	_, _, sl, _ := place(m.self, msg)
	m.own[sl] = true
	m.log(subject, data)
	m.last = append(m.last, protocol.Outgoing{Subject: subject, Data: data})
	m.eff.Emit(subject, data)
}

// remember records the message that opened the attempt.
func (m *machine) remember(r *protocol.MixRound, data []byte) {
	_, _, sl, _ := place(m.s.Plan.Aggregator(), r)
	m.at.seen[sl] = blake.Derive(entryContext, data)
}

// echo handles an own message that the bus delivers. One that the store does not have shows that the
// store was rolled back: this member must not act again on what it has forgotten.
func (m *machine) echo(msg protocol.Message, data []byte) {
	round, number, sl, ok := place(m.self, msg)
	st := m.state
	if !ok || round < st.round || round == st.round && number < st.attempt {
		return
	}
	current := m.at != nil && round == m.at.round && number == m.at.attempt
	if m.at == nil && round == st.round && number == st.attempt ||
		current && m.own[sl] && m.at.seen[sl] == blake.Derive(entryContext, data) {
		return
	}
	m.finish(protocol.Fail(protocol.ClassIntegrity, "this member signed a message of round %d attempt %d "+
		"that its store does not have: the store is an older copy; use the newest one", round, number))
}

// log stores an accepted message, with its subject if it is an own one.
func (m *machine) log(subject string, data []byte) {
	m.eff.Put(logKey(m.logged), stored(subject, data))
	m.logged++
	m.signed = append(m.signed, data)
}
