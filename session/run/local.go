package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/host"
	"choir/party"
	"choir/protocol"
	"choir/transport"
)

// Local runs every member of a plan in this process, each with its own key,
// connection and store.
type Local struct {
	Session  protocol.BoundPlan
	Keys     []*identity.PrivateKey // by member index
	Connect  func(member uint32) (transport.Bus, error)
	Store    func(member uint32) (host.Store, error)
	Rand     func(member uint32) io.Reader // nil: crypto/rand.Reader for all; anything else is for tests
	Notify   func(member uint32, n protocol.Notice)
	Resend   time.Duration
	GiveUp   time.Duration
	Model    protocol.Model
	App      func(party uint32) protocol.Application
	Proposer func(party uint32) protocol.Proposer
	Ledger   func(party uint32) party.Ledger
	// Workers is how many workers each compute node shares its work out to, each with a
	// connection of its own and a store that forgets; 0: none.
	Workers int
	// Leave ends a party's process as soon as that many rounds are settled, without a
	// word to anybody: a drop-out. 0: it stays.
	Leave func(party uint32) uint32
}

// Report is what a local session leaves behind.
type Report struct {
	Model       []int64  // the public model after the last round
	Transcript  [][]byte // in order
	UploadBytes []int64  // by party: everything it published
	Seconds     float64
}

// errLeft is how a drop-out's process ends.
var errLeft = errors.New("left the session")

// Run runs the session to its end. The first member that fails ends it for
// all; a party that leaves does not.
func (l *Local) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := len(l.Session.Plan.Members)
	stores, buses := make([]host.Store, n), make([]*CountingBus, n)
	defer func() {
		for i := range n {
			if buses[i] != nil {
				buses[i].Close()
			}
			if stores[i] != nil {
				stores[i].Close()
			}
		}
	}()
	for i := range n {
		if err := l.open(uint32(i), stores, buses); err != nil {
			return nil, err
		}
	}
	sampler, err := l.sampler()
	if err != nil {
		return nil, err
	}
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			errs[i] = l.runMember(ctx, uint32(i), stores[i], buses[i], sampler)
			if errs[i] != nil && !errors.Is(errs[i], errLeft) {
				cancel(fmt.Errorf("%s: %w", l.Session.Name(uint32(i)), errs[i]))
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return l.report(stores, buses, time.Since(began))
}

func (l *Local) open(i uint32, stores []host.Store, buses []*CountingBus) error {
	s, err := l.Store(i)
	if err != nil {
		return err
	}
	stores[i] = s
	b, err := l.Connect(i)
	if err != nil {
		return err
	}
	buses[i] = &CountingBus{Bus: b}
	return nil
}

func (l *Local) runMember(ctx context.Context, i uint32, store host.Store, bus transport.Bus, sampler *noise.Gaussian) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	r := &Role{Session: l.Session, Key: l.Keys[i], Store: store, Bus: bus, Rand: l.rand(i), Resend: l.Resend, GiveUp: l.GiveUp, Model: l.Model, Sampler: sampler}
	last := uint32(0)
	if l.Session.Plan.Is(i, protocol.RoleParty) {
		r.App, r.Proposer, r.Ledger = l.App(i), l.Proposer(i), l.Ledger(i)
		if l.Leave != nil {
			last = l.Leave(i)
		}
	}
	r.Notify = func(n protocol.Notice) {
		if l.Notify != nil {
			l.Notify(i, n)
		}
		if last > 0 && n.Code == protocol.NoteResult && n.Round >= last {
			leave(errLeft)
		}
	}
	if l.Workers > 0 && l.Session.Plan.Is(i, protocol.RoleCompute) {
		return l.runGroup(ctx, i, r)
	}
	return r.Run(ctx)
}

// sampler is the parties' common one: its tables are the same for all of them.
func (l *Local) sampler() (*noise.Gaussian, error) {
	if l.Session.Plan.Noise != protocol.NoiseParty {
		return nil, nil
	}
	return noise.NewGaussian(l.Session.Plan.Variance)
}

func (l *Local) rand(i uint32) io.Reader {
	if l.Rand == nil {
		return rand.Reader
	}
	return l.Rand(i)
}

func (l *Local) report(stores []host.Store, buses []*CountingBus, took time.Duration) (*Report, error) {
	r := &Report{Seconds: took.Seconds()}
	agg := stores[l.Session.Plan.Aggregator()]
	model, ok := protocol.UnpackInts(agg.Get("model"))
	if !ok {
		return nil, fmt.Errorf("the aggregator's store has no model")
	}
	r.Model = model
	for _, key := range agg.Keys("transcript/") {
		r.Transcript = append(r.Transcript, agg.Get(key))
	}
	for i := range l.Session.Plan.Parties() {
		r.UploadBytes = append(r.UploadBytes, buses[i].Sent())
	}
	return r, nil
}
