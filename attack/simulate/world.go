package simulate

import (
	"encoding/binary"
	"io"
	"strings"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/noise"
	"choir/protocol"
	"choir/transport"
)

// world is one simulated session.
type world struct {
	setup    Setup
	profile  Profile
	session  protocol.BoundPlan
	app      toy
	exchange *exchange
	bases    *commit.Generators // nil without audit
	sampler  *noise.Gaussian    // nil unless parties add noise
	outsider *signer            // signs what the broker forges
	members  []*member
	oracle   *oracle
	chaos    *chaos
	seams    seams

	now   int64
	queue queue

	prefix    string
	filters   []transport.Filters
	routes    map[string][]int
	published map[string]int

	steps int
	trace uint64
	story *strings.Builder // nil: none
}

// seams are where tests plant bugs and cheaters.
type seams struct {
	session func(m *member) protocol.BoundPlan                        // the plan, as a member sees it
	random  func(m *member, incarnation io.Reader) io.Reader          // a member's random source
	app     func(m *member) protocol.Application                      // a party's application
	machine func(m *member, honest protocol.Machine) protocol.Machine // replaces the machine
	giveUp  int64                                                     // the aggregator's, virtual ms
	// nil: all are; the oracle only checks those
	honest func(member int) bool
	only   string // the one rule that the oracle applies, "": all
}

// plantedBug changes the seams of every session. Tests build bugs in with it; it is nil otherwise.
var plantedBug func(seams) seams

func (s *seams) sessionOf(m *member) protocol.BoundPlan {
	if s.session != nil {
		return s.session(m)
	}
	return m.w.session
}

func (s *seams) randomOf(m *member) io.Reader {
	r := random(m.w.setup.Seed, uint32(m.i), m.incarnation)
	if s.random != nil {
		return s.random(m, r)
	}
	return r
}

func (s *seams) appOf(m *member) protocol.Application {
	if s.app != nil {
		return s.app(m)
	}
	return m.w.app
}

func newWorld(setup Setup, profile Profile, c *chaos, s seams) (*world, error) {
	session, keys, err := setup.session()
	if err != nil {
		return nil, err
	}
	if plantedBug != nil {
		s = plantedBug(s)
	}
	w := &world{setup: setup, profile: profile, session: session, app: setup.app(),
		exchange: &exchange{map[string]*channel.Secret{}}, outsider: newSigner(setup.Seed,
			1<<31), chaos: c, seams: s,
		routes: map[string][]int{}, published: map[string]int{}, trace: setup.Seed}
	if w.bases, err = session.Plan.Generators(); err != nil {
		return nil, err
	}
	if session.Plan.Noise == protocol.NoiseParty {
		if w.sampler, err = noise.NewGaussian(session.Plan.Variance); err != nil {
			return nil, err
		}
	}
	w.prefix = strings.TrimSuffix(session.SubjectControl(), "ctl")
	w.oracle = newOracle(w)
	for i := range session.Plan.Members {
		f, err := transport.NewFilters(session.Filters(uint32(i)))
		if err != nil {
			return nil, err
		}
		w.filters = append(w.filters, f)
		w.members = append(w.members,
			&member{w: w, i: i, name: session.Name(uint32(i)), role: session.Plan.Members[i].Role, key: keys[i],
				disk: newDisk()})
	}
	w.drawLies()
	w.drawFaults()
	return w, nil
}

// samplerFor is the sampler that a party shares with the others, nil for a plan
// that a seam has altered.
func (w *world) samplerFor(p *protocol.Plan) *noise.Gaussian {
	if p.Noise == w.session.Plan.Noise && p.Variance == w.session.Plan.Variance {
		return w.sampler
	}
	return nil
}

// ask is chaos.ask, within the time of faults.
func (w *world) ask(kind string, p float64, id uint64, key func() string,
	shape func(*dice) []int64) ([]int64, bool) {
	if w.now >= w.setup.Until || (p <= 0 && w.chaos.script == nil) {
		return nil, false
	}
	return w.chaos.ask(kind, p, id, key, shape)
}

// drawFaults draws the faults of each member from the start.
func (w *world) drawFaults() {
	p, until := &w.profile, w.setup.Until
	spare := w.setup.Parties - w.setup.MinParties // parties that may leave for good
	for _, m := range w.members {
		id, key := mixIn(uint64(m.i), m.name), func() string { return m.name }
		one := func(kind string, p float64, shape func(*dice) []int64) []int64 {
			args, _ := w.ask(kind, p, id, key, shape)
			return append(args, 0, 0)
		}
		m.slow = one("slow", p.Slow, func(d *dice) []int64 { return []int64{d.upto(60)} })[0]
		m.skew = one("skew", p.Skew, func(d *dice) []int64 { return []int64{d.upto(20_000) - 10_000} })[0]
		late := one("late", p.Late, func(d *dice) []int64 { return []int64{d.upto(until / 2)} })[0]
		w.queue.push(event{at: late, kind: boot, to: m.i, incarnation: -1})
		if m.role == protocol.RoleParty {
			leave := one("leave", p.Leave, func(d *dice) []int64 {
				at, away := d.upto(until/2), d.upto(until/2)
				if spare > 0 && d.chance(.5) {
					spare, away = spare-1, 0
				}
				return []int64{at, away}
			})
			if leave[0] > 0 {
				w.leaves(m, leave[0], leave[1])
			}
		}
		cut := one("cut", p.Cut, func(d *dice) []int64 { return []int64{d.upto(until / 2), d.upto(until / 2)} })
		m.cutFrom, m.cutTo = cut[0], cut[0]+cut[1]
	}
}

func (w *world) leaves(m *member, at, away int64) {
	w.queue.push(event{at: at, kind: halt, to: m.i, incarnation: -1})
	if away > 0 {
		w.queue.push(event{at: at + away, kind: boot, to: m.i, incarnation: -1})
	} else {
		w.oracle.leaver[m.i] = true
	}
}

// run continues until all members are done, an invariant is violated, or the time
// is up.
func (w *world) run() {
	limit := w.setup.Until + patience*int64(w.setup.Rounds+w.setup.Spares+1)
	for len(w.queue.heap) > 0 && len(w.oracle.violations) == 0 {
		e := w.queue.pop()
		if e.at > limit {
			break
		}
		w.now = e.at
		w.happen(&e)
		if w.over() {
			break
		}
	}
	if len(w.oracle.violations) == 0 {
		w.oracle.close()
	}
}

func (w *world) happen(e *event) {
	m := w.members[e.to]
	if e.incarnation >= 0 && e.incarnation != m.incarnation {
		return
	}
	switch e.kind {
	case arrive:
		m.arrives(e.msg)
	case turn:
		m.turn()
	case wake:
		if m.wakeAt > 0 && w.now >= m.wakeAt {
			m.kick(w.now)
		}
	case thought:
		m.proposals = append(m.proposals, e.work.Proposal)
		w.oracle.proposed(m, e.work.Proposal)
		m.kick(w.now)
	case boot:
		m.boot()
	case halt:
		w.logf(m, "leaves")
		m.gone = w.oracle.leaver[m.i]
		m.stop()
	case reconnected:
		m.reconnect()
	}
}

// over reports whether every member that is present is done.
func (w *world) over() bool {
	for _, m := range w.members {
		if !m.gone && !m.done && len(m.lies) == 0 {
			return false
		}
	}
	return true
}

// record mixes a step into the trace.
func (w *world) record(m *member, ev protocol.Event, msg *message, eff *protocol.Effects) {
	h := w.trace ^ uint64(w.now)<<8 ^ uint64(m.i)
	if msg != nil {
		h = mixIn(h, msg.data)
	}
	for _, r := range eff.Persist {
		h = mixIn(mixIn(h, r.Key), r.Value)
	}
	for _, o := range eff.Send {
		h = mixIn(mixIn(h, o.Subject), o.Data)
	}
	w.trace = mixIn(h, binary.BigEndian.AppendUint64(nil, uint64(eff.Wake)))
	if w.story != nil {
		w.logStep(m, ev, msg, eff)
	}
}
