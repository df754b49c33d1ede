package docs

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/aggregator"
	"choir/compute"
	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/protocol"
	"choir/session/app"
)

// phased is a role that says what it is at.
type phased interface {
	protocol.Machine
	Phase() string
}

// world steps every role of a plan in one thread and writes down its moves.
type world struct {
	t     *testing.T
	s     protocol.BoundPlan
	roles []phased
	views []*host.Ram
	over  []bool
	wake  []int64
	queue [][]byte
	now   int64
	drop  func(to uint32, e *protocol.Envelope, m protocol.Message) bool
	moves map[protocol.Role][][2]string
}

type noLedger struct{}

func (noLedger) Charge(uint32, uint32) ([]byte, uint64, error) { return nil, 0, nil }
func (noLedger) Append([]byte) error                           { return nil }

func newWorld(t *testing.T, change func(*protocol.Plan)) *world {
	t.Helper()
	p := &protocol.Plan{Name: "states", Created: 1, NotAfter: 1 << 40, Suite: channel.SuiteX25519, Dim: 2,
		Rounds: 2, SpareAttempts: 1,
		MinParties: 2, UnsafeDifferences: true, DeadlineMS: 10_000, PerParty: 100, Application: app.NameSum}
	var keys []*identity.PrivateKey
	for i, name := range []string{"party-a", "party-b", "party-c", "node-a", "node-b", "sum"} {
		role := []protocol.Role{1, 1, 1, 2, 2, 3}[i]
		keys = append(keys, identity.FromSeed([32]byte{byte(i + 1)}))
		p.Members = append(p.Members, protocol.Member{Name: name, Role: role, Key: keys[i].Public(),
			NotAfter: p.NotAfter})
	}
	change(p)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, s: protocol.Bind(p), over: make([]bool, 6), wake: make([]int64, 6),
		moves: map[protocol.Role][][2]string{},
		drop:  func(uint32, *protocol.Envelope, protocol.Message) bool { return false }}
	for i, k := range keys {
		w.views = append(w.views, host.NewRam())
		m, err := w.role(uint32(i), k, rand.NewChaCha8([32]byte{byte(i)}))
		if err != nil {
			t.Fatal(err)
		}
		w.roles = append(w.roles, m)
	}
	return w
}

func (w *world) role(i uint32, k *identity.PrivateKey, r *rand.ChaCha8) (phased, error) {
	sum := app.Sum{Dim: int(w.s.Plan.Dim)}
	switch w.s.Plan.Members[i].Role {
	case protocol.RoleParty:
		return party.New(party.Config{Session: w.s, Key: k, App: sum, Ledger: noLedger{}, Rand: r, View: w.views[i],
			ResendMS: 1000})
	case protocol.RoleCompute:
		return compute.New(compute.Config{Session: w.s, Key: k, Rand: r, View: w.views[i], ResendMS: 1000})
	}
	return aggregator.New(aggregator.Config{Session: w.s, Key: k, Model: sum, Rand: r, View: w.views[i],
		ResendMS: 1000})
}

func (w *world) step(i uint32, ev protocol.Event) {
	if w.over[i] {
		return
	}
	before := w.roles[i].Phase()
	eff := w.roles[i].Step(w.now, ev)
	if after := w.roles[i].Phase(); after != before {
		role := w.s.Plan.Members[i].Role
		w.moves[role] = append(w.moves[role], [2]string{before, after})
	}
	if err := w.views[i].Apply(eff.Persist); err != nil {
		w.t.Fatal(err)
	}
	for _, o := range eff.Send {
		w.queue = append(w.queue, o.Data)
	}
	w.over[i], w.wake[i] = eff.Done, eff.Wake
	if eff.Done && eff.Err != nil {
		w.t.Fatalf("%s: %v", w.s.Name(i), eff.Err)
	}
	if p := eff.Propose; p != nil {
		w.step(i, protocol.Proposal{Round: p.Round, Attempt: p.Attempt, Update: []int64{int64(i), 1},
			Memo: []byte{}})
	}
}

// run delivers everything to everybody, in order, and lets time pass only when
// nothing is under way.
func (w *world) run() {
	w.t.Helper()
	for i := range w.roles {
		w.step(uint32(i), protocol.Start{})
	}
	for ticks := 0; slices.Contains(w.over, false); {
		if len(w.queue) == 0 {
			if ticks++; ticks > 1000 {
				w.t.Fatal("the session doesn't end")
			}
			w.tick()
			continue
		}
		data := w.queue[0]
		w.queue = w.queue[1:]
		e, m, err := w.s.Receive(data)
		for i := range uint32(len(w.roles)) {
			if err != nil || !w.drop(i, e, m) { // a chunk is no signed message
				w.step(i, protocol.Delivery{Data: data})
			}
		}
	}
}

func (w *world) tick() {
	next := int64(0)
	for i, at := range w.wake {
		if !w.over[i] && at > 0 && (next == 0 || at < next) {
			next = at
		}
	}
	w.now = max(w.now, next)
	for i := range w.roles {
		w.step(uint32(i), protocol.Tick{})
	}
}

// scenarios are a plain session, one with a void attempt (each node misses
// another party, so that the lists have one party in common), and one in which
// a party misses a result until it is said again.
func scenarios(t *testing.T) []*world {
	plain := newWorld(t, func(p *protocol.Plan) { p.Audit = true })
	split := newWorld(t, func(*protocol.Plan) {})
	split.drop = func(to uint32, e *protocol.Envelope, m protocol.Message) bool {
		c, ok := m.(*protocol.Contribution)
		return ok && c.Round == 1 && c.Attempt == 1 && ((e.From == 0 && to == 4) || (e.From == 2 && to == 3))
	}
	late := newWorld(t, func(*protocol.Plan) {})
	missed := false
	late.drop = func(to uint32, _ *protocol.Envelope, m protocol.Message) bool {
		if _, ok := m.(*protocol.Result); ok && to == 0 && !missed {
			missed = true
			return true
		}
		return false
	}
	return []*world{plain, split, late}
}

// TestMoves: what the roles do in these sessions is in their tables, and the
// sessions pass through every state.
func TestMoves(t *testing.T) {
	passed := map[string]bool{}
	for _, w := range scenarios(t) {
		w.run()
		for role, table := range map[protocol.Role][]protocol.Transition{protocol.RoleParty: party.Transitions(),
			protocol.RoleAggregator: aggregator.Transitions()} {
			for _, m := range w.moves[role] {
				if !slices.ContainsFunc(table, func(t protocol.Transition) bool {
					return t.From == m[0] &&
						t.To == m[1]
				}) {
					t.Errorf("%s moves from %s to %s", role, m[0], m[1])
				}
			}
		}
		for role, moves := range w.moves { // a compute node checks each move itself, several in a step
			for _, m := range moves {
				passed[role.String()+" "+m[0]], passed[role.String()+" "+m[1]] = true, true
			}
		}
	}
	for role, table := range tables() {
		for _, tr := range table {
			if s := role + " " + tr.To; !passed[s] {
				t.Errorf("no session passes through %q", s)
			}
		}
	}
}

func tables() map[string][]protocol.Transition {
	return map[string][]protocol.Transition{"party": party.Transitions(), "compute": compute.Transitions(),
		"aggregator": aggregator.Transitions()}
}
