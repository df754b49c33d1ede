package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"choir/aggregator"
	"choir/compute"
	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/protocol/mix"
	"choir/session/app"
	"choir/transport"
)

// Role is one member of a plan, ready to run in this process.
type Role struct {
	Session     protocol.BoundPlan
	Key         *identity.PrivateKey
	Store       host.Store
	Bus         transport.Bus
	Rand        io.Reader // crypto/rand.Reader in production
	Notify      func(protocol.Notice)
	Resend      time.Duration // retransmit interval without progress; 0: 15 s
	GiveUp      time.Duration // aggregator: end the session after this time without progress; 0: never
	IdleTimeout time.Duration // end with a timeout after this time without messages; 0: never

	Model    protocol.Model       // aggregator
	Origin   []byte               // aggregator: see aggregator.Config
	App      protocol.Application // party
	Proposer protocol.Proposer    // party
	Ledger   party.Ledger         // party
	Sampler  *noise.Gaussian      // party: shared sampler of the plan's noise; nil: a new one
	Group    compute.Group        // compute: its workers; see Worker
	// Mix sends each party's update as a report through the mix-net in place of the secure sum, as a plan
	// that mixes always does. App, Sampler and Group have no use then.
	Mix bool
	End error // aggregator: end the session for all with this reason; nil: it goes on
}

// mixes reports whether the mix-net carries what a plan's parties send.
func mixes(flag bool, s protocol.BoundPlan) bool { return flag || s.Plan.Mixes() }

// Run runs the member to the end of the session. Called again after a crash, with the
// same store, it resumes.
func (r *Role) Run(ctx context.Context) error {
	index, ok := r.Session.Plan.Index(r.Key.Public())
	if !ok {
		return protocol.Fail(protocol.ClassIntegrity, "plan %s: %w: the key %s isn't on the roster",
			r.Session.ID.Short(), protocol.ErrUnknown, r.Key.Public().Fingerprint())
	}
	journal := host.NewJournal(r.Store)
	// A batch's coefficients change nothing that is sent. Messages arrive in any order, so that they would
	// shift what r.Rand gives to the shares and the noise.
	batch := protocol.NewBatch(r.Session, rand.Reader)
	r.Session.Verifier = batch
	machine, err := r.machine(r.Session.Plan.Members[index].Role, journal)
	if err != nil {
		return err
	}
	filters := r.Session.Filters(index)
	if r.Group.Workers > 0 {
		filters = r.Session.GroupFilters(index)
	}
	if mixes(r.Mix, r.Session) {
		filters = r.Session.MixFilters(index)
	}
	return host.Run(ctx, host.Config{Machine: machine, Journal: journal, Bus: r.Bus, Filters: filters,
		Prepare: batch.Prepare, Proposer: r.Proposer, Notify: r.Notify,
		Gather: host.Gather(r.Session.Plan.Members[index].Role), IdleTimeout: r.IdleTimeout})
}

func (r *Role) machine(role protocol.Role, view protocol.View) (protocol.Machine, error) {
	if mixes(r.Mix, r.Session) {
		model := r.Model
		if !r.Session.Plan.Mixes() {
			model = nil // the reports are what the caller wants
		}
		return mix.New(mix.Config{Session: r.Session, Key: r.Key, Ledger: r.Ledger, Rand: r.Rand, View: view,
			Model: model, End: r.End, ResendMS: r.Resend.Milliseconds(), GiveUpMS: r.GiveUp.Milliseconds()})
	}
	switch role {
	case protocol.RoleParty:
		return party.New(party.Config{Session: r.Session, Key: r.Key, App: r.App, Ledger: r.Ledger,
			Sampler: r.Sampler, Rand: r.Rand, View: view, ResendMS: r.Resend.Milliseconds(), Window: host.Window,
			KeepSums: app.KeepsSums(r.Session.Plan)})
	case protocol.RoleCompute:
		return compute.New(compute.Config{Session: r.Session, Key: r.Key, Rand: r.Rand, View: view,
			ResendMS: r.Resend.Milliseconds(), Group: r.Group})
	case protocol.RoleAggregator:
		return aggregator.New(aggregator.Config{Session: r.Session, Key: r.Key, Model: r.Model, Origin: r.Origin,
			Rand: r.Rand, View: view, Ledger: NewLedger(r.Session, new(ledger.Ledger), nil), End: r.End,
			ResendMS: r.Resend.Milliseconds(), GiveUpMS: r.GiveUp.Milliseconds()})
	}
	return nil, fmt.Errorf("no such role: %s", role)
}
