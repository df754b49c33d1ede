package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"choir/crypto/identity"
	"choir/experiment/study"
	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
)

// App is a party's side of an application.
type App interface {
	protocol.Application
	protocol.Proposer
}

// Session is one session to run.
type Session struct {
	Name      string // with Seed it determines all randomness
	Seed      uint64
	Parties   int
	Computes  int // 0: 3
	Transport study.Transport
	Dir       string // with NATS: an existing folder; what is left there is removed

	// Plan makes the plan from terms that have everything but what it decides:
	// rounds, placement, budget.
	Plan func(t session.Terms) (*protocol.Plan, error)
	// App is a party's application.
	App func(p *protocol.Plan, party int) (App, error)
	// Watch is told the model after every accepted round; nil: nobody.
	Watch func(round int, model []int64) error
}

// Run runs the session to its end.
func (s Session) Run(ctx context.Context) (*protocol.Plan, *session.Report, error) {
	r, err := s.prepare()
	if err != nil {
		return nil, nil, err
	}
	connect, shutdown, err := r.network(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer shutdown()
	model, err := session.NewModel(r.plan)
	if err != nil {
		return nil, nil, err
	}
	apps := make([]App, s.Parties)
	for i := range apps {
		if apps[i], err = s.App(r.plan, i); err != nil {
			return nil, nil, fmt.Errorf("party %d: %w", i, err)
		}
	}
	l := &session.Local{Session: r.s, Keys: r.keys, Model: watched{model, s.Watch}, Resend: 5 * time.Minute, GiveUp: time.Hour, Connect: connect,
		Store: r.store, Rand: func(i uint32) io.Reader { return Stream(fmt.Sprintf("%s seed %d member %d", s.Name, s.Seed, i)) },
		App:      func(i uint32) protocol.Application { return apps[i] },
		Proposer: func(i uint32) protocol.Proposer { return apps[i] },
		Ledger:   func(uint32) party.Ledger { return session.NewAccount(r.s, new(ledger.Ledger), nil) }}
	rep, err := l.Run(ctx)
	return r.plan, rep, err
}

// running is a session with everything that its members must have agreed on.
type running struct {
	Session
	plan *protocol.Plan
	s    protocol.Session
	keys []*identity.PrivateKey
}

// prepare makes identities and has every member sign the plan.
func (s Session) prepare() (*running, error) {
	if s.Computes == 0 {
		s.Computes = 3
	}
	r := &running{Session: s}
	from := Stream(fmt.Sprintf("%s seed %d identities", s.Name, s.Seed))
	t := session.Terms{Name: s.Name, Created: time.Now(), Lifetime: 24 * time.Hour, Deadline: time.Hour, Grace: time.Second, Noise: protocol.NoiseParty}
	var keys []*identity.PrivateKey
	for _, group := range []struct {
		role protocol.Role
		name string
		n    int
	}{{protocol.RoleParty, "party", s.Parties}, {protocol.RoleCompute, "compute", s.Computes}, {protocol.RoleAggregator, "aggregator", 1}} {
		for i := range group.n {
			k, err := identity.Generate(from)
			if err != nil {
				return nil, err
			}
			keys = append(keys, k)
			t.Members = append(t.Members, session.NewMember(fmt.Sprintf("%s-%03d", group.name, i+1), group.role, k.Public()))
		}
	}
	var err error
	if r.plan, err = s.Plan(t); err != nil {
		return nil, err
	}
	r.s = protocol.NewSession(r.plan)
	return r, r.sign(keys)
}

func (r *running) sign(keys []*identity.PrivateKey) error {
	signed := &protocol.SignedPlan{Plan: r.plan}
	r.keys = make([]*identity.PrivateKey, len(keys))
	for _, k := range keys {
		i, ok := r.plan.Index(k.Public())
		if !ok {
			return fmt.Errorf("lab: a member isn't in the plan")
		}
		r.keys[i] = k
		if err := signed.Sign(k); err != nil {
			return err
		}
	}
	return signed.Complete(time.Now())
}

func (r *running) network(ctx context.Context) (connect func(uint32) (transport.Bus, error), shutdown func(), err error) {
	if r.Transport != study.NATS {
		hub := memory.NewHub()
		return func(i uint32) (transport.Bus, error) { return hub.Connect(r.s.Name(i)), nil }, func() {}, nil
	}
	dir, err := os.MkdirTemp(r.Dir, "nats-")
	if err != nil {
		return nil, nil, err
	}
	server, err := natsbus.StartServer(natsbus.ServerConfig{StoreDir: dir})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded server: %w", err)
	}
	connect = func(i uint32) (transport.Bus, error) {
		bus, err := natsbus.Open(ctx, natsbus.Config{Server: server, Plan: r.s.ID.Short(), Name: r.s.Name(i), Storage: natsbus.File})
		if err != nil {
			return nil, err
		}
		if err := bus.EnsureStream(ctx); err != nil {
			bus.Close()
			return nil, err
		}
		return bus, nil
	}
	return connect, func() { server.Shutdown(); os.RemoveAll(dir) }, nil
}

func (r *running) store(uint32) (host.Store, error) { return host.NewRam(), nil }

// watched shows every state of the model.
type watched struct {
	protocol.Model
	see func(round int, model []int64) error
}

// Fold implements protocol.Model.
func (w watched) Fold(round uint32, model, sum []int64) ([]int64, error) {
	next, err := w.Model.Fold(round, model, sum)
	if err != nil || w.see == nil {
		return next, err
	}
	return next, w.see(int(round), next)
}
