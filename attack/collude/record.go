package collude

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
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

	plants plants
}

// staging is what members of a session do that they should not, and the terms that it takes.
type staging struct {
	absent   int           // the parties 1 to absent contribute nothing
	late     int           // what the parties 1 to late contribute arrives when the nodes have sent their lists
	deadline time.Duration // of a round; 0: none that a session reaches
	leaveOut uint32        // the round in which the victim contributes nothing; 0: none
	spares   int           // spare attempts of the plan
	perParty uint64        // bound on a party's vector; 0: beyond all that attacks on sums send
	// giveUp is the time after which the aggregator ends a session that makes no progress. The session may
	// end in any way then.
	giveUp time.Duration
	// plan changes the plan that a member goes by; nil: none.
	plan func(member uint32, p *protocol.Plan)
	// says returns what a member publishes in place of a message; nil: the message.
	says func(r *record, m message) []message
	// hears reports whether a member receives a message; nil: all do.
	hears func(r *record, member uint32, data []byte) bool
	// think is called before a party's vector is computed.
	think func(ctx context.Context, r *record, party, round int)
	keep  bool // remember the order in which stores changed
}

// beyondAll is a bound on a party's vector that no attack on sums reaches.
const beyondAll = 1 << 50

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
	keys     []*identity.PrivateKey
	messages []message
	contents []content             // of the messages, once it is read
	stored   []map[string][]byte   // by member: all that it ever stored
	applied  [][][]protocol.Record // by member, in order, if the staging keeps it
	notices  map[uint32][]protocol.Notice
	lists    *lists
	end      error // of a session that may fail
}

// sessionPlan is the plan of a session of sums on the target's terms. It claims nothing: the
// application does not know records, the target does.
func (t Target) sessionPlan(roster *run.Roster, dim int, s staging) (*protocol.Plan, error) {
	deadline := time.Hour
	if s.deadline > 0 {
		deadline = s.deadline
	}
	if s.perParty == 0 {
		s.perParty = beyondAll
	}
	base := terms.Terms{Name: "attacked", Members: roster.Members, Created: time.Now(), Lifetime: time.Hour,
		Suite: channel.SuiteX25519, Dropouts: t.Parties - t.MinParties, Colluders: t.Colluders,
		Rounds: 1, Deadline: deadline}
	p, err := base.Sum(terms.SumTerms{Dim: dim, PerParty: s.perParty})
	if err != nil {
		return nil, err
	}
	p.Rounds, p.SpareAttempts = uint32(t.Rounds), uint32(s.spares)
	p.UnsafeDifferences = t.Noise == protocol.NoiseNone || t.Noise == protocol.NoiseLocal
	if t.Noise == protocol.NoiseParty || t.Noise == protocol.NoiseCompute {
		p.Noise, p.Variance = t.Noise, t.Variance
	}
	return p, p.Validate()
}

// run runs a session to its end.
func (l Lab) run(ctx context.Context, t Target, dim int, s staging, in inputs) (*record, error) {
	roster, err := run.NewRoster(nil, t.Parties, t.Nodes)
	if err != nil {
		return nil, err
	}
	p, err := t.sessionPlan(roster, dim, s)
	if err != nil {
		return nil, err
	}
	r := &record{session: protocol.Bind(p), notices: map[uint32][]protocol.Notice{},
		lists: newLists()}
	if r.keys, err = roster.KeysIn(p); err != nil {
		return nil, err
	}
	connect := run.InMemory(r.session)
	if l.Network != nil {
		var shut func()
		if connect, shut, err = l.Network(ctx, r.session); err != nil {
			return nil, err
		}
		defer shut()
	}
	local := l.local(r, dim, s, in)
	over, end := context.WithCancel(ctx)
	var held sync.WaitGroup
	local.Connect = func(i uint32) (transport.Bus, error) {
		bus, err := connect(i)
		return &tap{Bus: bus, r: r, member: i, staging: s, over: over, held: &held}, err
	}
	_, err = local.Run(ctx)
	end()
	held.Wait()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && s.giveUp == 0:
		return nil, fmt.Errorf("session under attack: %w", err)
	}
	r.end = err
	return r, nil
}

// local is a session but for its connections.
func (l Lab) local(r *record, dim int, s staging, in inputs) *run.Local {
	sum := app.Sum{Dim: dim}
	local := &run.Local{Session: r.session, Keys: r.keys, Model: sum, Rand: l.Rand,
		Resend: 10 * time.Second, GiveUp: 5 * time.Minute, Notify: r.notice,
		App: func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer {
			return proposer(func(ctx context.Context, round int) []int64 {
				if s.think != nil {
					s.think(ctx, r, int(i), round)
				}
				return in(int(i), round)
			})
		},
		Store: func(i uint32) (host.Store, error) { return r.store(i, s.keep), nil }}
	if s.deadline > 0 {
		local.Resend = s.deadline
	}
	if s.giveUp > 0 {
		local.GiveUp, local.Resend = s.giveUp, s.giveUp/4
	}
	if l.plants.clearDigests {
		local.Model = telltale{sum, r}
	}
	if s.plan != nil {
		local.Altered = func(i uint32) protocol.BoundPlan {
			altered, own := r.session, *r.session.Plan
			s.plan(i, &own)
			altered.Plan = &own
			return altered
		}
	}
	return local
}

// proposer gives a party's vector of a round.
type proposer func(ctx context.Context, round int) []int64

// Propose implements protocol.Proposer.
func (f proposer) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	return f(ctx, int(w.Round)), nil, nil
}

func (r *record) notice(member uint32, n protocol.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices[member] = append(r.notices[member], n)
}

// count is how often a member noticed something.
func (r *record) count(member uint32, code protocol.Code) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, notice := range r.notices[member] {
		if notice.Code == code {
			n++
		}
	}
	return n
}

// store returns a store in memory that remembers what it deletes.
func (r *record) store(member uint32, keep bool) host.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.stored) <= int(member) {
		r.stored, r.applied = append(r.stored, map[string][]byte{}), append(r.applied, nil)
	}
	return &keeper{Store: host.NewRam(), r: r, member: member, keep: keep}
}

type keeper struct {
	host.Store
	r      *record
	member uint32
	keep   bool
}

// Apply implements host.Store.
func (k *keeper) Apply(records []protocol.Record) error {
	k.r.mu.Lock()
	if k.keep {
		k.r.applied[k.member] = append(k.r.applied[k.member], slices.Clone(records))
	}
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
