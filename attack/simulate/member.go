package simulate

import (
	"fmt"
	"slices"

	"choir/aggregator"
	"choir/compute"
	"choir/party"
	"choir/protocol"
)

// member is the process of one role, over all its restarts.
type member struct {
	w    *world
	i    int
	name string
	role protocol.Role
	key  *signer
	disk *disk

	machine     protocol.Machine
	party       *party.Party // the machine itself, for a party
	incarnation int
	up          bool
	gone        bool // left for good
	done        bool
	end         error

	fresh     bool // Start is due
	behind    int  // messages in the inbox from before the start; -1: the machine has caught up
	inbox     []*message
	history   []*message
	log       []*message // stored on the bus for it, delivered or not
	lies      []cheater  // that it tells; none: it is honest
	rewound   bool       // its store went back
	reread    bool       // the next start reads the whole log
	proposals []protocol.Proposal
	batches   int
	busy      int64 // no turn before
	turning   bool  // a turn is scheduled
	wakeAt    int64 // 0: no tick is due

	skew, slow, cutFrom, cutTo int64

	taken []*message // by the current batch
	out   []protocol.Outgoing
	stuck []protocol.Outgoing // waits for the connection
	work  *protocol.Work
	ahead announced
}

// proposal is an update that is being computed.
type proposal struct {
	protocol.Proposal
}

// build makes the machine from what is durable.
func (m *member) build() (err error) {
	w := m.w
	m.disk.drop()
	rand, session, view := w.seams.randomOf(m), w.seams.sessionOf(m), protocol.View(m.disk)
	switch m.role {
	case protocol.RoleParty:
		l := &account{free: w.setup.Noise == protocol.NoiseNone, limit: w.session.Plan.Releases(),
			charged: map[attempt]bool{}}
		m.party, err = party.New(party.Config{Session: session, Key: m.key, App: w.seams.appOf(m), Ledger: l,
			Bases: w.bases, Sampler: w.samplerFor(session.Plan), Rand: rand, View: view,
			ResendMS: resendMS, Initiate: w.exchange.initiate(rand)})
		m.machine = m.party
	case protocol.RoleCompute:
		m.machine, err = compute.New(compute.Config{Session: session, Key: m.key, Rand: rand, View: view,
			ResendMS: resendMS, Initiate: w.exchange.initiate(rand), Accept: w.exchange.accept})
	default:
		m.machine, err = aggregator.New(aggregator.Config{Session: session, Key: m.key, Model: w.seams.appOf(m),
			Rand: rand, View: view,
			ResendMS: resendMS, GiveUpMS: w.giveUp(), Bases: w.bases, Accept: w.exchange.accept})
	}
	if err == nil && w.seams.machine != nil {
		m.machine = w.seams.machine(m, m.machine)
	}
	if err == nil && len(m.lies) > 0 {
		m.machine = w.liar(m)
	}
	return err
}

// boot starts a new incarnation.
func (m *member) boot() {
	if m.up || m.gone {
		return
	}
	if err := m.build(); err != nil && len(m.lies) > 0 {
		m.gone = true // its lies have broken its own store
		return
	} else if err != nil {
		m.w.oracle.violate("broken store", "%s can't start: %v", m.name, err)
		return
	}
	if m.reread {
		m.reread = false
		m.inbox = slices.Clone(m.log)
	}
	m.up = true
	m.fresh = true
	m.done = false
	m.end = nil
	m.kick(m.w.now)
}

// kick schedules a turn, unless one is scheduled.
func (m *member) kick(at int64) {
	if m.up && !m.done && !m.turning {
		m.turning = true
		m.w.queue.push(event{at: max(at, m.busy), kind: turn, to: m.i, incarnation: m.incarnation})
	}
}

// turn runs one batch: the events that may share a transaction by the contract of
// protocol.Machine.
func (m *member) turn() {
	m.turning = false
	if m.fresh {
		m.fresh = false
		m.behind = len(m.inbox)
		m.step(protocol.Start{Behind: true}, nil)
	}
	m.catchUp()
	for _, p := range m.proposals {
		m.step(p, nil)
	}
	m.proposals = nil
	for n := m.batchSize(); n > 0 && len(m.inbox) > 0 && !m.done; n-- {
		msg := m.inbox[0]
		m.inbox = m.inbox[1:]
		m.taken = append(m.taken, msg)
		m.step(protocol.Delivery{Data: msg.data, More: n > 1 && len(m.inbox) > 0}, msg)
		if m.done && m.end != nil { // delivered again after a restart
			m.taken = m.taken[:len(m.taken)-1]
			m.inbox = append([]*message{msg}, m.inbox...)
		}
		m.behind = max(m.behind-1, -1)
		m.catchUp()
	}
	if m.wakeAt > 0 && m.w.now >= m.wakeAt && !m.done {
		m.step(protocol.Tick{}, nil)
	}
	m.flush()
}

// catchUp tells the machine that it has everything from before its start.
func (m *member) catchUp() {
	if m.behind == 0 {
		m.behind = -1
		m.step(protocol.CaughtUp{}, nil)
	}
}

func (m *member) batchSize() int {
	if len(m.inbox) < 2 {
		return 1
	}
	args, ok := m.w.ask("batch", m.w.profile.Batch, m.batchID(), m.batchKey,
		func(d *dice) []int64 { return []int64{1 + d.upto(8)} })
	if ok {
		return int(args[0])
	}
	return 1
}

func (m *member) batchKey() string { return fmt.Sprintf("%s@%d", m.name, m.batches) }
func (m *member) batchID() uint64  { return uint64(m.i)<<32 | uint64(m.batches) }

// step runs the machine and collects its effects; no message is sent before flush.
func (m *member) step(ev protocol.Event, msg *message) {
	if m.done {
		return
	}
	w := m.w
	w.steps++
	eff := m.machine.Step(epoch+w.now+m.skew, ev)
	m.disk.add(eff.Persist)
	m.out = append(m.out, eff.Send...)
	if eff.Propose != nil {
		work := *eff.Propose
		m.work = &work
	}
	m.wakeAt = 0
	if eff.Wake > 0 {
		m.wakeAt = max(w.now, eff.Wake-epoch-m.skew)
	}
	if eff.Done {
		m.done, m.end = true, eff.Err
	}
	w.record(m, ev, msg, &eff)
	w.oracle.noticed(m, msg, eff.Notices)
	w.oracle.checkAnnounced(m, &eff)
}

// flush makes the batch durable and sends its messages, unless the process
// crashes in between.
func (m *member) flush() {
	w := m.w
	defer func() { m.batches++ }()
	how, away := m.crashes()
	if how == 0 {
		m.inbox = append(append([]*message(nil), m.taken...), m.inbox...)
		m.crash(away)
		return
	}
	w.oracle.durable(m)
	m.disk.commit()
	m.taken = nil
	out := m.out
	if how > 0 {
		out = out[:min(len(out), how-1)]
	}
	m.out = nil
	m.leave(out)
	if how > 0 {
		m.crash(away)
		return
	}
	m.think()
	w.oracle.settled(m)
	if w.now < w.setup.Until && m.slow > 0 {
		m.busy = w.now + m.slow
	}
	if len(m.inbox) > 0 {
		m.kick(w.now)
	}
	if m.wakeAt > 0 && !m.done {
		w.queue.push(event{at: max(m.wakeAt, w.now+1), kind: wake, to: m.i, incarnation: m.incarnation})
	}
}

// crashes draws whether and how the process crashes at this batch; -1: not.
func (m *member) crashes() (how int, away int64) {
	args, ok := m.w.ask("crash", m.w.profile.Crash, m.batchID(), m.batchKey, func(d *dice) []int64 {
		return []int64{int64(d.next() % 5), d.upto(500)}
	})
	if !ok {
		return -1, 0
	}
	return int(args[0]), args[1]
}

// crash ends the incarnation, and with it everything not durable and not sent.
func (m *member) crash(away int64) {
	m.w.logf(m, "dies")
	m.stop()
	if _, ok := m.w.ask("replay", m.w.profile.Replay, m.batchID(), m.batchKey, nil); ok {
		m.inbox = append([]*message(nil), m.history...)
	}
	args, ok := m.w.ask("rewind", m.w.profile.Rewind, m.batchID(), m.batchKey, rewindBy)
	if ok {
		m.w.logf(m, "its store goes back by %d batches", args[0])
		m.disk.rewind(args[0])
		m.rewound, m.reread = true, true
	}
	m.w.queue.push(event{at: m.w.now + away, kind: boot, to: m.i, incarnation: m.incarnation})
}

// rewindBy draws by how many batches a store goes back: a few, or up to all of a session.
func rewindBy(d *dice) []int64 {
	if d.chance(.5) {
		return []int64{d.upto(8)}
	}
	return []int64{d.upto(100)}
}

// stop ends the incarnation without notice.
func (m *member) stop() {
	m.incarnation++
	m.up = false
	m.turning = false
	m.wakeAt = 0
	m.busy = 0
	m.out = nil
	m.stuck = nil
	m.work = nil
	m.proposals = nil
	m.taken = nil
	m.ahead = nil
	m.disk.drop()
}

// leave sends messages, at once or when the connection is back.
func (m *member) leave(out []protocol.Outgoing) {
	w := m.w
	if len(out) == 0 {
		return
	}
	if len(m.stuck) > 0 || w.now >= m.cutFrom && w.now < m.cutTo {
		m.stuck = append(m.stuck, out...)
		w.queue.push(event{at: max(m.cutTo, w.now), kind: reconnected, to: m.i, incarnation: m.incarnation})
		return
	}
	m.publish(out)
}

// reconnect sends the messages that waited for the connection.
func (m *member) reconnect() {
	out := m.stuck
	m.stuck = nil
	m.publish(out)
}

func (m *member) publish(out []protocol.Outgoing) {
	for _, o := range out {
		m.w.oracle.left(m, o)
		m.w.publish(m, o)
	}
}

// think computes the update that the machine asked for.
func (m *member) think() {
	if m.work == nil {
		return
	}
	work := *m.work
	m.work = nil
	at := attempt{work.Round, work.Attempt}
	took := int64(5)
	args, ok := m.w.ask("think", m.w.profile.Think, uint64(m.i)<<48|uint64(at.round)<<16|uint64(at.attempt),
		func() string { return m.name + " " + at.String() }, func(d *dice) []int64 { return []int64{d.upto(600)} })
	if ok {
		took = args[0]
	}
	u := m.w.app.update(uint32(m.i), work)
	p := &proposal{protocol.Proposal{Round: work.Round, Attempt: work.Attempt, Update: u,
		Memo: protocol.AppendInts(nil, u)}}
	m.w.queue.push(event{at: m.w.now + took, kind: thought, to: m.i, incarnation: m.incarnation, work: p})
}
