package compute_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"choir/aggregator"
	"choir/compute"
	"choir/crypto/channel"
	"choir/host"
	"choir/internal/roletest"
	"choir/party"
	"choir/protocol"
	"choir/transport"
)

// crowd is a whole session that is stepped in one goroutine. Node 0 has workers.
type crowd struct {
	t       testing.TB
	parties uint32
	dim     int
	s       protocol.BoundPlan
	group   compute.Group
	seats   []*seat
	queue   []protocol.Outgoing
	tap     func(from *seat, data []byte) [][]byte // replaces a worker message by others
	between func(data []byte)                      // before each message
	refused []error                                // by node 0 and its workers
	held    map[string]int
	reveals int
	secrets map[string]*channel.Secret // of the links and channels, by encapsulation
}

type seat struct {
	name    string
	machine protocol.Machine
	store   *host.Ram
	filters transport.Filters
	build   func(protocol.View) (protocol.Machine, error)
	done    bool
	err     error
}

const crowdParties, crowdNodes = 6, 2

// plain is an application and a ledger for sums without noise.
type plain struct{ dim int }

func (a plain) Initial() []int64 { return make([]int64, a.dim) }
func (a plain) Fold(_ uint32, _, sum []int64) ([]int64, error) {
	return slices.Clone(sum), nil
}
func (plain) InitialState() []byte                             { return []byte{} }
func (plain) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }
func (plain) Charge(uint32, uint32) ([]byte, uint64, error)    { return nil, 0, nil }
func (plain) Append([]byte) error                              { return nil }

func newCrowd(t testing.TB, workers int, audit bool) *crowd {
	t.Helper()
	return newCrowdOf(t, crowdParties, 3, workers, audit)
}

func newCrowdOf(t testing.TB, parties uint32, dim, workers int, audit bool) *crowd {
	t.Helper()
	secret, err := channel.NewSecret(bytes.Repeat([]byte{3}, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	p := &protocol.Plan{
		Name:              "crowd",
		Created:           1,
		NotAfter:          1 << 40,
		Suite:             channel.SuiteX25519,
		Dim:               uint32(dim),
		FracBits:          8,
		Rounds:            2,
		MinParties:        3,
		UnsafeDifferences: true,
		DeadlineMS:        1000,
		GraceMS:           10,
		Clip:              1,
		PerParty:          1 << 20,
		Audit:             audit,
		Application:       "plain",
	}
	r := roletest.New(t, p, int(parties), crowdNodes)
	c := &crowd{
		t:       t,
		parties: parties,
		dim:     dim,
		s:       r.Session,
		group:   compute.Group{Workers: workers, Secret: secret},
		held:    map[string]int{},
		secrets: map[string]*channel.Secret{},
	}
	c.sitMembers(r.Signers)
	for w := range workers {
		path := protocol.WorkerPath{Node: parties, Worker: uint32(w), Of: uint32(workers)}
		build := func(v protocol.View) (protocol.Machine, error) {
			return compute.NewWorker(c.workerConfig(w, v))
		}
		c.sit(fmt.Sprintf("worker-%d", w), c.s.WorkerFilters(path), build)
	}
	return c
}

// sitMembers adds the members: parties p000, p001 and so on, nodes c0 and c1, aggregator a.
func (c *crowd) sitMembers(signers []protocol.Signer) {
	c.t.Helper()
	bases, err := c.s.Plan.Generators()
	if err != nil {
		c.t.Fatal(err)
	}
	app := plain{c.dim}
	for i, key := range signers {
		filters := c.s.Filters(uint32(i))
		switch c.s.Plan.Members[i].Role {
		case protocol.RoleParty:
			c.sit(fmt.Sprintf("p%03d", i), filters, func(v protocol.View) (protocol.Machine, error) {
				return party.New(party.Config{
					Session: c.s, Key: key, App: app, Ledger: app, Bases: bases, Rand: rand.Reader, View: v,
				})
			})
		case protocol.RoleCompute:
			cfg := compute.Config{Session: c.s, Key: key, Rand: rand.Reader, Initiate: c.initiate}
			if i == int(c.parties) {
				filters = c.s.GroupFilters(c.parties)
				cfg.Group = c.group
			}
			c.sit(fmt.Sprintf("c%d", i-int(c.parties)), filters, func(v protocol.View) (protocol.Machine, error) {
				cfg.View = v
				return compute.New(cfg)
			})
		default:
			c.sit("a", filters, func(v protocol.View) (protocol.Machine, error) {
				return aggregator.New(aggregator.Config{
					Session: c.s, Key: key, Model: app, Ledger: app, Bases: bases, Rand: rand.Reader, View: v,
				})
			})
		}
	}
}

// openWorker opens a message between the node and a worker.
func (c *crowd) openWorker(data []byte) (path protocol.WorkerPath, m protocol.WorkerMessage, err error) {
	if !protocol.IsWorker(data) {
		return path, nil, protocol.ErrUnknown
	}
	worker, err := protocol.WorkerOfMessage(data)
	if err != nil {
		return path, nil, err
	}
	accept := func(_ protocol.WorkerPath, enc []byte) (*channel.Secret, error) {
		if s := c.secrets[string(enc)]; s != nil {
			return s, nil
		}
		return nil, protocol.ErrUnknown
	}
	return c.s.OpenWorker(c.group.Worker(int(worker)).Secret, data, accept)
}

// initiate is channel.Initiate; the test keeps the secret.
func (c *crowd) initiate(suite channel.Suite, public, info []byte) ([]byte, *channel.Secret, error) {
	enc, s, err := channel.Initiate(suite, public, info)
	c.secrets[string(enc)] = s
	return enc, s, err
}

func (c *crowd) workerConfig(w int, v protocol.View) compute.WorkerConfig {
	return compute.WorkerConfig{
		Session: c.s, Node: c.parties, Worker: w, Group: c.group.Worker(w), Rand: rand.Reader, View: v,
		Initiate: c.initiate,
	}
}

func (c *crowd) sit(name string, filters []string, build func(protocol.View) (protocol.Machine, error)) {
	c.t.Helper()
	f, err := transport.NewFilters(filters)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &seat{name: name, store: host.NewRam(), filters: f, build: build}
	c.seats = append(c.seats, s)
	c.restart(s)
}

// restart restarts a seat's machine from its store.
func (c *crowd) restart(s *seat) {
	c.t.Helper()
	m, err := s.build(s.store)
	if err != nil {
		c.t.Fatalf("%s: %v", s.name, err)
	}
	s.machine, s.done = m, false
}

func (c *crowd) seat(name string) *seat {
	return c.seats[slices.IndexFunc(c.seats, func(s *seat) bool { return s.name == name })]
}

func (c *crowd) step(s *seat, ev protocol.Event, now int64) {
	if s.done {
		return
	}
	eff := s.machine.Step(now, ev)
	if err := s.store.Apply(eff.Persist); err != nil {
		c.t.Fatal(err)
	}
	for _, o := range eff.Send {
		out := [][]byte{o.Data}
		if c.tap != nil && protocol.IsWorker(o.Data) {
			out = c.tap(s, o.Data)
		}
		for _, data := range out {
			c.queue = append(c.queue, protocol.Outgoing{Subject: o.Subject, Data: data})
		}
	}
	for _, n := range eff.Notices {
		switch {
		case n.Code == protocol.NoteRefused && (s.name == "c0" || s.name[0] == 'w'):
			c.refused = append(c.refused, n.Err)
		case n.Code == protocol.NoteHeld && s.name == "c0":
			c.held[fmt.Sprint(n.Round, " ", n.Peer)]++
		case n.Code == protocol.NoteRevealed && s.name == "c0":
			c.reveals++
		}
	}
	if eff.Done {
		s.done, s.err = true, eff.Err
	}
	if w := eff.Propose; w != nil {
		i := int64(s.name[3] - '0')
		u := make([]int64, c.dim)
		copy(u, []int64{1 << i, -i, int64(w.Round)})
		c.step(s, protocol.Proposal{Round: w.Round, Attempt: w.Attempt, Update: u, Memo: []byte{}}, now)
	}
}

// run steps the session until all machines have ended.
func (c *crowd) run() {
	c.t.Helper()
	now := int64(2_000_000)
	for _, s := range c.seats {
		c.step(s, protocol.Start{}, now)
	}
	for range 200 {
		for len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			if c.between != nil {
				c.between(m.Data)
			}
			for _, s := range c.seats {
				if s.filters.Match(m.Subject) {
					c.step(s, protocol.Delivery{Data: m.Data}, now)
				}
			}
		}
		now += 16_000
		for _, s := range c.seats {
			c.step(s, protocol.Tick{}, now)
		}
		if !slices.ContainsFunc(c.seats, func(s *seat) bool { return !s.done }) {
			return
		}
	}
	for _, s := range c.seats {
		if !s.done {
			c.t.Errorf("%s has not ended", s.name)
		}
	}
}

// check checks a session's guarantees: the correct model, each contribution counted once, one
// reveal a round.
func (c *crowd) check() {
	c.t.Helper()
	for _, s := range c.seats {
		if s.err != nil {
			c.t.Errorf("%s: %v", s.name, s.err)
		}
	}
	model, ok := protocol.UnpackInts(c.seat("a").store.Get("model"))
	if want := []int64{1<<crowdParties - 1, -15, 2 * crowdParties}; !ok || !slices.Equal(model, want) {
		c.t.Errorf("the model is %v, want %v", model, want)
	}
	if len(c.held) != 2*crowdParties || c.reveals != 2 {
		c.t.Errorf("%d contributions, %d reveals", len(c.held), c.reveals)
	}
	for what, n := range c.held {
		if n != 1 {
			c.t.Errorf("%s was counted %d times", what, n)
		}
	}
}
