// Package mixnet runs sessions of the mix-net in one thread under a virtual clock, with one member that
// lies and members that crash. Its rows are the mix-net's part of the table of cheats: what a member
// does, who notices, whether it is named, and what the aggregator receives. Keys and layers are real.
package mixnet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/protocol"
	"choir/protocol/mix"
)

// member is one member of a session, with a store in memory.
type member struct {
	name    string
	machine protocol.Machine
	store   map[string][]byte
	next    int   // position in the log
	later   []int // positions of messages that come after all others
	at      int   // that of the message that is being delivered
	over    bool
	end     error
	wake    int64
	births  int
	notices []protocol.Notice
}

// Get implements protocol.View.
func (m *member) Get(key string) []byte { return m.store[key] }

// Keys implements protocol.View.
func (m *member) Keys(prefix string) (keys []string) {
	for k := range m.store {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// world is a session.
type world struct {
	seed    uint64
	s       protocol.BoundPlan
	keys    []*identity.PrivateKey
	members []*member
	mu      sync.Mutex          // guards log where members run concurrently
	log     []protocol.Outgoing // the bus: every message, in its order
	now     int64
	order   *rand.Rand // who acts next
	repeat  bool       // messages are delivered twice
	// late reports whether a message is to reach a member after all others that are there; nil: none is.
	late   func(member string, data []byte) bool
	tamper map[string]func(layer int, content []byte) []byte
	cheat  *cheat
	// crash is asked before the effects of a step are handled; nil: no one crashes.
	crash func(m *member, eff *protocol.Effects) crash
	// suspend is asked before each message whether all processes are stopped now; nil: never.
	suspend func() bool
}

// crash is when a process ends.
type crash int

const (
	noCrash     crash = iota
	beforeStore       // what the step did is lost
	afterStore        // it is durable, and nothing of it was sent
)

// plan is the table's plan: four parties of which three suffice, three nodes, two rounds.
func plan(keys []*identity.PrivateKey) *protocol.Plan {
	p := &protocol.Plan{Name: "mix", Created: 1, NotAfter: 1 << 40, Suite: channel.SuiteX25519, Dim: 2,
		Rounds: 2, SpareAttempts: 1, MinParties: 3, Colluders: 1, DeadlineMS: 1000, PerParty: 1 << 20,
		UnsafeDifferences: true, Application: "mix"}
	for i, name := range []string{"p0", "p1", "p2", "p3", "c0", "c1", "c2", "agg"} {
		role := protocol.RoleParty
		if i >= 4 {
			role = protocol.RoleCompute
		}
		if i == 7 {
			role = protocol.RoleAggregator
		}
		p.Members = append(p.Members,
			protocol.Member{Name: name, Role: role, Key: keys[i].Public(), NotAfter: p.NotAfter})
	}
	return p
}

func newWorld(seed uint64) (*world, error) {
	w := &world{seed: seed, now: 1_000_000, order: rand.New(rand.NewPCG(seed, 1)),
		tamper: map[string]func(int, []byte) []byte{}}
	for i := range 8 {
		w.keys = append(w.keys, identity.FromSeed([32]byte{byte(seed), byte(seed >> 8), byte(i), 1}))
	}
	p := plan(w.keys)
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w.s = protocol.Bind(p)
	w.s.Verifier = verified{}
	for _, m := range p.Members {
		w.members = append(w.members, &member{name: m.Name, store: map[string][]byte{}})
	}
	return w, nil
}

// verified remembers the signatures that one of the members has verified, for the others.
type verified map[string]bool

// Verify implements protocol.Verifier.
func (v verified) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	all := string(key[:]) + string(sig[:]) + string(msg)
	if _, known := v[all]; !known {
		v[all] = identity.Verify(key, msg, sig)
	}
	return v[all]
}

// start makes a member's machine from its store.
func (w *world) start(i int) error {
	m := w.members[i]
	var r io.Reader = rand.NewChaCha8([32]byte{byte(w.seed), byte(w.seed >> 8), byte(i), byte(m.births), 2})
	m.births++
	machine, err := w.machine(i, mix.Config{Session: w.s, Rand: r, View: m})
	if err != nil {
		return err
	}
	m.machine = machine
	return w.step(i, protocol.Start{})
}

// machine makes a member's machine; the cheat gets the member's key.
func (w *world) machine(i int, cfg mix.Config) (protocol.Machine, error) {
	m := w.members[i]
	cfg.Key = w.keys[i]
	cfg.Tamper = w.tamper[m.name]
	machine, err := mix.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if w.lies(m) {
		w.cheat.w = w
		w.cheat.self = uint32(i)
		w.cheat.key = w.keys[i]
	}
	return machine, nil
}

// hides reports whether a message does not reach a member: the broker withholds it, the cheat pretends
// so, or it is the cheat's own, since its machine does not know what it signed.
func (w *world) hides(i int, data []byte) bool {
	m, c := w.members[i], w.cheat
	if c == nil {
		return false
	}
	if w.lies(m) {
		e, err := protocol.UnmarshalEnvelope(data)
		if err == nil && int(e.From) == i || c.row.deaf != nil && c.row.deaf(data) {
			return true
		}
	}
	return c.row.shown != nil && !c.row.shown(m.name, data)
}

// sent returns the messages on the bus.
func (w *world) sent() []protocol.Outgoing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log[:len(w.log):len(w.log)]
}

// send puts messages on the bus.
func (w *world) send(messages ...protocol.Outgoing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, messages...)
}

// lies reports whether a member is the cheat.
func (w *world) lies(m *member) bool { return w.cheat != nil && w.cheat.row.Who == m.name }

// report is what a party reports in a round.
func report(party int, round uint32) []int64 {
	return []int64{int64(100*party) + int64(round), -int64(party)}
}

// step gives a member an event and handles the effects.
func (w *world) step(i int, ev protocol.Event) error {
	m := w.members[i]
	eff := m.machine.Step(w.now, ev)
	again := false
	if w.lies(m) {
		w.cheat.alter(&eff)
		again = w.cheat.believe()
	}
	m.notices = append(m.notices, eff.Notices...)
	died := noCrash
	if w.crash != nil {
		died = w.crash(m, &eff)
	}
	if died == beforeStore {
		if _, ok := ev.(protocol.Delivery); ok {
			m.next = m.at // the message is delivered again
		}
		return w.start(i)
	}
	for _, r := range eff.Persist {
		if delete(m.store, r.Key); r.Value != nil {
			m.store[r.Key] = bytes.Clone(r.Value)
		}
	}
	if died == afterStore {
		return w.start(i)
	}
	w.send(eff.Send...)
	m.wake = eff.Wake
	if eff.Done {
		m.over = true
		m.end = eff.Err
	}
	if again {
		return w.start(i)
	}
	if eff.Propose != nil {
		return w.step(i, protocol.Proposal{Round: eff.Propose.Round, Attempt: eff.Propose.Attempt,
			Update: report(i, eff.Propose.Round)})
	}
	return nil
}

// run runs the session until all honest members have ended, or nothing more happens.
func (w *world) run() error {
	for i := range w.members {
		if err := w.start(i); err != nil {
			return err
		}
	}
	for range 200_000 {
		if w.suspend != nil && w.suspend() {
			if err := w.pause(); err != nil {
				return err
			}
		}
		moved, err := w.deliver()
		if err != nil {
			return err
		}
		if moved {
			continue
		}
		if more, err := w.tick(); err != nil || !more {
			return err
		}
	}
	return nil
}

// pause lets much time pass while all processes are stopped. Timers expire before messages are read.
func (w *world) pause() error {
	w.now += 600_000
	for i, m := range w.members {
		if !m.over {
			if err := w.step(i, protocol.Tick{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver gives one member its next message, and reports whether there was one.
func (w *world) deliver() (bool, error) {
	for _, i := range w.order.Perm(len(w.members)) {
		m := w.members[i]
		filters := w.s.MixFilters(uint32(i))
		for ; !m.over && m.next < len(w.log); m.next++ {
			o := w.log[m.next]
			if !slices.ContainsFunc(filters, func(f string) bool { return matches(f, o.Subject) }) {
				continue
			}
			if w.hides(i, o.Data) {
				continue
			}
			if w.late != nil && w.late(m.name, o.Data) {
				m.later = append(m.later, m.next)
				continue
			}
			m.at = m.next
			m.next++
			for range 1 + w.copies() {
				if err := w.step(i, protocol.Delivery{Data: bytes.Clone(o.Data)}); err != nil {
					return true, err
				}
			}
			return true, nil
		}
	}
	return w.deliverLate()
}

// deliverLate is deliver once only late messages are left.
func (w *world) deliverLate() (bool, error) {
	for i, m := range w.members {
		if len(m.later) > 0 && !m.over {
			o := w.log[m.later[0]]
			m.later = m.later[1:]
			return true, w.step(i, protocol.Delivery{Data: bytes.Clone(o.Data)})
		}
	}
	return false, nil
}

func (w *world) copies() int {
	if w.repeat {
		return w.order.IntN(2)
	}
	return 0
}

// tick lets the time pass until the first member wants to act, and reports whether there is one.
// Long after the aggregator has ended there is none.
func (w *world) tick() (bool, error) {
	first := int64(0)
	waiting := slices.ContainsFunc(w.members, func(m *member) bool {
		return !m.over && !w.lies(m)
	})
	for _, m := range w.members {
		if !m.over && m.wake > 0 && (first == 0 || m.wake < first) {
			first = m.wake
		}
	}
	if first == 0 || !waiting || w.now > 2_000_000 {
		return false, nil
	}
	w.now = max(w.now, first)
	for i, m := range w.members {
		if !m.over && m.wake > 0 && m.wake <= w.now {
			if err := w.step(i, protocol.Tick{}); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// matches reports whether a subject matches a filter of MixFilters.
func matches(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	if len(f) != len(s) {
		return false
	}
	for i := range f {
		if f[i] != "*" && f[i] != s[i] {
			return false
		}
	}
	return true
}

// onRecord checks the aggregator's transcript, and that it has the reports that the aggregator received.
func (w *world) onRecord() error {
	m := w.members[7]
	var entries [][]byte
	for _, key := range m.Keys("transcript/") {
		entries = append(entries, m.Get(key))
	}
	all, _, at, err := mix.Verify(w.s, entries)
	if err != nil {
		return fmt.Errorf("entry %d: %w", at, err)
	}
	for _, a := range all {
		got, _ := protocol.Ints(m.store[mix.ReportsKey(a.Round)])
		if a.Outcome == protocol.OutcomeAccepted && !slices.Equal(got, a.Reports) {
			return fmt.Errorf("round %d: reports %v, received %v", a.Round, a.Reports, got)
		}
	}
	return nil
}

// received returns the senders of the reports that the aggregator has of a round, in increasing order;
// -1 for a report that no party sent.
func (w *world) received(round uint32) (parties []int) {
	all, _ := protocol.Ints(w.members[7].store[mix.ReportsKey(round)])
	for r := range slices.Chunk(all, 2) {
		party := -1
		for i := range 4 {
			if slices.Equal(r, report(i, round)) {
				party = i
			}
		}
		parties = append(parties, party)
	}
	slices.Sort(parties)
	return parties
}
