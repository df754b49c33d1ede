package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/protocol/mix"
)

// Local runs every member of a plan in this process, each with its own key,
// connection and store. Functions that are nil have a default.
type Local struct {
	Session  protocol.BoundPlan
	Keys     []*identity.PrivateKey // by member index
	Model    protocol.Model
	App      func(party uint32) protocol.Application
	Proposer func(party uint32) protocol.Proposer
	Connect  Connect                                 // nil: InMemory
	Store    func(member uint32) (host.Store, error) // nil: in memory
	Ledger   func(party uint32) party.Ledger         // nil: an empty one
	Rand     func(member uint32) io.Reader           // nil: crypto/rand.Reader; others are for tests
	Notify   func(member uint32, n protocol.Notice)
	Resend   time.Duration // see Role
	GiveUp   time.Duration
	// Workers is the number of workers of each compute node, each with its own
	// connection and a store in memory; 0: none.
	Workers int
	// Leave is the round after which a party drops out without a message; 0, or a
	// nil function: never.
	Leave func(party uint32) uint32
	// Altered is the plan that a dishonest member goes by, under the same id; nil: Session. It is for
	// attacks.
	Altered func(member uint32) protocol.BoundPlan
	// Mix is Role.Mix. The application is the party's Proposer alone.
	Mix bool
}

// Report is the outcome of a local session.
type Report struct {
	Model       []int64  // the public model after the last round
	Transcript  [][]byte // in order
	UploadBytes []int64  // by party: all that it published
	Seconds     float64
	// Reports are those that the mix-net delivered, by round, in the order of the list; nil without Mix,
	// and for a round that was lost.
	Reports [][][]int64
}

// errLeft ends a party that drops out.
var errLeft = errors.New("left the session")

// localRun is a local session that runs.
type localRun struct {
	Local
	stores  []host.Store
	buses   []*CountingBus
	sampler *noise.Gaussian // shared: its tables are the same for all parties
}

// Run runs the session to its end. The first member that fails ends it for
// all; a party that drops out does not.
func (l *Local) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &localRun{Local: l.withDefaults()}
	defer r.close()
	if err := r.open(); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	for i := range uint32(len(r.stores)) {
		group.Go(func() {
			if err := r.member(ctx, i); err != nil && !errors.Is(err, errLeft) {
				cancel(fmt.Errorf("%s: %w", l.Session.Name(i), err))
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return r.report(time.Since(began))
}

func (l *Local) withDefaults() Local {
	full := *l
	if full.Connect == nil {
		full.Connect = InMemory(l.Session)
	}
	if full.Store == nil {
		full.Store = func(uint32) (host.Store, error) { return host.NewRam(), nil }
	}
	if full.Ledger == nil {
		full.Ledger = func(uint32) party.Ledger { return NewLedger(l.Session, new(ledger.Ledger), nil) }
	}
	if full.Rand == nil {
		full.Rand = func(uint32) io.Reader { return rand.Reader }
	}
	if full.Notify == nil {
		full.Notify = func(uint32, protocol.Notice) {}
	}
	if full.Altered == nil {
		full.Altered = func(uint32) protocol.BoundPlan { return full.Session }
	}
	if full.Leave == nil {
		full.Leave = func(uint32) uint32 { return 0 }
	}
	return full
}

// open opens the stores and connections, and draws the tables of the noise.
func (r *localRun) open() (err error) {
	plan := r.Session.Plan
	for i := range uint32(len(plan.Members)) {
		store, err := r.Store(i)
		if err != nil {
			return err
		}
		r.stores = append(r.stores, store)
		bus, err := r.Connect(i)
		if err != nil {
			return err
		}
		r.buses = append(r.buses, &CountingBus{Bus: bus})
	}
	if plan.Noise == protocol.NoiseParty {
		r.sampler, err = noise.NewGaussian(plan.Variance)
	}
	return err
}

func (r *localRun) close() {
	for _, b := range r.buses {
		_ = b.Close() // the session is over
	}
	for _, s := range r.stores {
		_ = s.Close()
	}
}

// member runs member i to its end.
func (r *localRun) member(ctx context.Context, i uint32) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	role := &Role{Session: r.Altered(i), Key: r.Keys[i], Store: r.stores[i], Bus: r.buses[i], Rand: r.Rand(i),
		Resend: r.Resend, GiveUp: r.GiveUp, Model: r.Model, Sampler: r.sampler, Mix: r.Mix}
	last := uint32(0)
	if r.Session.Plan.Is(i, protocol.RoleParty) {
		if !mixes(r.Mix, r.Session) {
			role.App = r.App(i)
		}
		role.Proposer = r.Proposer(i)
		role.Ledger = r.Ledger(i)
		last = r.Leave(i)
	}
	role.Notify = func(n protocol.Notice) {
		r.Notify(i, n)
		if last > 0 && n.Code == protocol.NoteResult && n.Round >= last {
			leave(errLeft)
		}
	}
	if r.Workers > 0 && r.Session.Plan.Is(i, protocol.RoleCompute) {
		return r.nodeWithWorkers(ctx, i, role)
	}
	return role.Run(ctx)
}

func (r *localRun) report(took time.Duration) (*Report, error) {
	out := &Report{Seconds: took.Seconds()}
	store := r.stores[r.Session.Plan.Aggregator()]
	for _, b := range r.buses[:r.Session.Plan.Parties()] {
		out.UploadBytes = append(out.UploadBytes, b.Sent())
	}
	if mixes(r.Mix, r.Session) {
		for round := range r.Session.Plan.Rounds {
			reports, err := mixReports(r.Session.Plan, store, round+1)
			if err != nil {
				return nil, err
			}
			out.Reports = append(out.Reports, reports)
		}
		if !r.Session.Plan.Mixes() {
			return out, nil
		}
	}
	model, ok := protocol.UnpackInts(store.Get("model"))
	if !ok {
		return nil, fmt.Errorf("the aggregator's store has no model")
	}
	out.Model = model
	out.Transcript = Transcript(store)
	return out, nil
}

// mixReports returns the reports of a round from the aggregator's store, nil if the round was lost.
func mixReports(plan *protocol.Plan, view protocol.View, round uint32) ([][]int64, error) {
	b := view.Get(mix.ReportsKey(round))
	if b == nil {
		return nil, nil
	}
	all, ok := protocol.Ints(b)
	if !ok || len(all)%int(plan.Dim) != 0 {
		return nil, fmt.Errorf("the aggregator's store has %d bytes of reports of round %d", len(b), round)
	}
	return slices.Collect(slices.Chunk(all, int(plan.Dim))), nil
}
