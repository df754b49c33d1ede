package collude

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
)

// Lab runs sessions.
type Lab struct {
	// Network starts what the members connect over, and returns how to end it; nil: the
	// memory of this process.
	Network func(ctx context.Context, s protocol.BoundPlan) (run.Connect, func(), error)
	// Rand is the randomness of a member; nil: the machine's. Others are for tests.
	Rand func(member uint32) io.Reader

	leaveOut uint32 // the round in which the victim contributes nothing; 0: none
}

// inputs are a session's vectors: what a party contributes in a round, before noise.
type inputs func(party, round int) []int64

// message is one that a member published.
type message struct {
	From    uint32
	Subject string
	Data    []byte
}

// record is all that happened in a session, of which a coalition sees a part.
type record struct {
	session  protocol.BoundPlan
	mu       sync.Mutex
	messages []message
	stored   []map[string][]byte // by member: all that it ever stored
}

// sessionPlan is the plan of a session of sums on the target's terms. It claims nothing: the
// application does not know records, the target does.
func (t Target) sessionPlan(roster *run.Roster, dim int, absent bool) (*protocol.Plan, error) {
	deadline := time.Hour
	if absent {
		deadline = 2 * time.Second
	}
	base := terms.Terms{Name: "attacked", Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Suite: channel.SuiteX25519, Dropouts: t.Parties - t.MinParties, Colluders: t.Colluders,
		Rounds: 1, Deadline: deadline}
	p, err := base.Sum(terms.SumTerms{Dim: dim, PerParty: 1 << 50})
	if err != nil {
		return nil, err
	}
	p.Rounds = uint32(t.Rounds)
	p.UnsafeDifferences = t.Noise == protocol.NoiseNone || t.Noise == protocol.NoiseLocal
	if t.Noise == protocol.NoiseParty || t.Noise == protocol.NoiseCompute {
		p.Noise, p.Variance = t.Noise, t.Variance
	}
	return p, p.Validate()
}

// run runs a session to its end. The parties 1 to absent contribute nothing.
func (l Lab) run(ctx context.Context, t Target, dim, absent int, in inputs) (*record, error) {
	roster, err := run.NewRoster(nil, t.Parties, t.Nodes)
	if err != nil {
		return nil, err
	}
	p, err := t.sessionPlan(roster, dim, absent > 0 || l.leaveOut > 0)
	if err != nil {
		return nil, err
	}
	keys, err := roster.KeysIn(p)
	if err != nil {
		return nil, err
	}
	r := &record{session: protocol.Bind(p)}
	connect := run.InMemory(r.session)
	if l.Network != nil {
		var shut func()
		if connect, shut, err = l.Network(ctx, r.session); err != nil {
			return nil, err
		}
		defer shut()
	}
	sum := app.Sum{Dim: dim}
	local := &run.Local{Session: r.session, Keys: keys, Model: sum, Rand: l.Rand,
		Resend: 10 * time.Second, GiveUp: 5 * time.Minute,
		App: func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer {
			return proposer(func(round int) []int64 { return in(int(i), round) })
		},
		Store: r.store,
		Connect: func(i uint32) (transport.Bus, error) {
			bus, err := connect(i)
			tap := &tap{Bus: bus, r: r, member: i, silent: i >= 1 && int(i) <= absent}
			if i == 0 {
				tap.skip = l.leaveOut
			}
			return tap, err
		}}
	if _, err := local.Run(ctx); err != nil {
		return nil, fmt.Errorf("session under attack: %w", err)
	}
	return r, nil
}

// proposer gives a party's vector of a round.
type proposer func(round int) []int64

// Propose implements protocol.Proposer.
func (f proposer) Propose(_ context.Context, w protocol.Work) ([]int64, []byte, error) {
	return f(int(w.Round)), nil, nil
}

// store returns a store in memory that remembers what it deletes.
func (r *record) store(member uint32) (host.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.stored) <= int(member) {
		r.stored = append(r.stored, map[string][]byte{})
	}
	return &keeper{Store: host.NewRam(), r: r, member: member}, nil
}

type keeper struct {
	host.Store
	r      *record
	member uint32
}

// Apply implements host.Store.
func (k *keeper) Apply(records []protocol.Record) error {
	k.r.mu.Lock()
	for _, rec := range records {
		if rec.Value != nil {
			key := rec.Key
			for n := 2; rec.Erase && k.r.stored[k.member][key] != nil; n++ {
				key = fmt.Sprintf("%s#%d", rec.Key, n) // a member of a coalition keeps what the program erases
			}
			k.r.stored[k.member][key] = bytes.Clone(rec.Value)
		}
	}
	k.r.mu.Unlock()
	return k.Store.Apply(records)
}

// tap records what a member publishes. A silent one's contributions are lost.
type tap struct {
	transport.Bus
	r      *record
	member uint32
	silent bool
	skip   uint32 // a round without its contribution; 0: none
}

// Publish implements transport.Bus.
func (b *tap) Publish(ctx context.Context, msgs ...transport.Message) error {
	var kept []transport.Message
	for _, m := range msgs {
		if round := b.contributes(m.Data); round > 0 && (b.silent || round == b.skip) {
			continue
		}
		kept = append(kept, m)
		b.r.mu.Lock()
		b.r.messages = append(b.r.messages, message{b.member, m.Subject, bytes.Clone(m.Data)})
		b.r.mu.Unlock()
	}
	if len(kept) == 0 {
		return nil
	}
	return b.Bus.Publish(ctx, kept...)
}

// contributes returns the round of a message that is part of a contribution, 0 for others.
func (b *tap) contributes(data []byte) uint32 {
	if c, err := protocol.ViewChunk(data); err == nil && c.Purpose == protocol.PurposeShare {
		return c.Round
	}
	if _, m, err := b.r.session.Receive(data); err == nil {
		if c, ok := m.(*protocol.Contribution); ok {
			return c.Round
		}
	}
	return 0
}
