// Package party is the data holder's role: it contributes one noised, secret
// shared update per attempt and settles its private state only when a signed
// result says that it was counted. It is Client i of the DCA (dissertation,
// Paper I, Algorithm 1), steps 1 and 2.
//
// Party is a pure state machine; see protocol.Machine for the driver's duties.
// What it remembers across crashes:
//
//	link/<responder>                channel secret, and the Open that made it
//	group                           the plan's group key
//	settled                         u32: rounds settled so far
//	model                           the public model after them, integers
//	state                           the application's private state after them
//	attempt                         u32 round, u32 attempt: the last one contributed to
//	want                            an open attempt that this party hasn't contributed to
//	outbox                          the noise's seed and the update, until every node has the
//	                                contribution that they make: it is made again to be sent again
//	head, memo                      its signed Contribution, and what settling it needs
//	receipt/<r>/<a>/<node>           receipts, kept for good
//	agree/<r>/<a>/<node>, result/.. how a round ended, until it is settled
//	ledger/<n>                      the privacy ledger: charges before contributions, never deleted
//	done                            the session is over
package party

import (
	"errors"
	"fmt"
	"io"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/noise"
	"choir/protocol"
)

// Config is what a party starts from.
type Config struct {
	Session  protocol.BoundPlan
	Key      protocol.Signer // *identity.PrivateKey
	App      protocol.Application
	Ledger   Ledger        // charges every contribution
	Rand     io.Reader     // noise; production passes crypto/rand.Reader
	View     protocol.View // what an earlier life persisted
	ResendMS int64         // how long to wait for progress before saying the last thing again
	// Window is how much of a contribution is made and sent in one step, in bytes, at
	// least one chunk; 0: 8 MiB.
	Window int
	// Ahead is up to how many coordinates this party draws its next noise while it has
	// nothing else to do, and keeps it in memory, 8 bytes each. Beyond it noise is drawn
	// chunk by chunk when it is needed. 0: 2^20; negative: never.
	Ahead int
	// Bases are what commitments are made with under a plan with audit; derived
	// when nil. Parties in one process may share them.
	Bases *commit.Generators
	// Sampler draws noise of the plan's variance; made when nil and needed. Its tables take
	// longer than most contributions' noise, so parties in one process may share it.
	Sampler *noise.Gaussian
	// Room is used for one contribution after another; each has fresh memory when nil.
	// See its promise.
	Room *Room
	// Initiate sets up a channel; channel.Initiate when nil.
	Initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
}

// Ledger is the party's own account of what it has paid. It is asked before
// each contribution; an entry's bytes are persisted with the contribution, in
// one transaction, before any byte of it leaves.
type Ledger interface {
	// Charge is the next entry, or an error when the budget refuses. It must
	// not remember the entry: Commit does. A nil entry says that there is nothing
	// to charge, under a plan without noise.
	Charge(round, attempt uint32) (entry []byte, seq uint64, err error)
	// Append takes an entry in, after Charge or when the store is read back.
	Append(entry []byte) error
}

// Party is one party in one plan.
type Party struct {
	cfg       Config
	bound     protocol.BoundPlan
	self      uint32
	computes  int    // compute nodes
	firstNode uint32 // index of the first
	view      protocol.View
	eff       *protocol.Effects
	now       int64
	progress  int64 // when something last moved
	backoff   protocol.Backoff
	ended     bool

	links map[uint32]*protocol.Link // to the compute nodes and the aggregator
	group *channel.Secret

	settled   uint32
	model     []int64
	state     []byte
	maxSum    uint64
	noise     *noise.Gaussian // made before the first contribution
	nextNoise *drawn          // noise for a contribution to come
	spare     []int64         // room for a result, at least as many integers as it has, of no meaning; or nil

	modelDigest protocol.Digest // of model

	latest    pair            // the last attempt contributed to: never again
	open      *protocol.Round // an open attempt that this party hasn't contributed to
	proposing bool            // its update is being computed
	own       *contribution   // the contribution that is out
	scratch   []byte          // room for an opened chunk of a result
	results   map[pair]*result
	agrees    map[pair]map[uint32]*protocol.Agree
}

type pair struct{ round, attempt uint32 }

// after orders attempts: by round, then by number.
func (p pair) after(q pair) bool {
	return p.round > q.round || (p.round == q.round && p.attempt > q.attempt)
}

// contribution is this party's contribution to an attempt.
type contribution struct {
	pair
	bundle       protocol.Digest // of the head
	head         []byte          // nil until the last chunk was made
	memo         []byte
	receipts     map[uint32]bool
	out          *sending // nil when nothing of it is on its way
	manifestSent bool     // the head alone was said again, and nothing has come of it
}

// New builds the machine from its view.
func New(cfg Config) (*Party, error) {
	self, ok := cfg.Session.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleParty) {
		return nil, protocol.Fail(protocol.ClassIntegrity, "party: %w: this identity isn't a party of plan %s", protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	p := &Party{cfg: cfg, bound: cfg.Session, self: self, computes: cfg.Session.Plan.Computes(), firstNode: cfg.Session.Plan.Compute(0), view: cfg.View,
		links: map[uint32]*protocol.Link{}, results: map[pair]*result{},
		agrees: map[pair]map[uint32]*protocol.Agree{}}
	if cfg.ResendMS <= 0 {
		p.cfg.ResendMS = 15_000
	}
	p.backoff.Base = p.cfg.ResendMS
	if cfg.Window <= 0 {
		p.cfg.Window = defaultWindow
	}
	if cfg.Ahead == 0 {
		p.cfg.Ahead = defaultAhead
	}
	if cfg.Initiate == nil {
		p.cfg.Initiate = channel.Initiate
	}
	var err error
	if p.maxSum, err = p.bound.Plan.MaxSum(); err != nil {
		return nil, err
	}
	if cfg.Bases == nil {
		if p.cfg.Bases, err = p.bound.Plan.Generators(); err != nil {
			return nil, err
		}
	}
	if p.noise = cfg.Sampler; p.noise != nil {
		if num, den := p.noise.Variance(); num != p.bound.Plan.Variance || den != 1 {
			return nil, protocol.Fail(protocol.ClassFailed, "party: the sampler's variance %d/%d isn't the plan's %d", num, den, p.bound.Plan.Variance)
		}
	}
	p.model, p.state = cfg.App.Initial(), cfg.App.InitialState()
	p.modelDigest = protocol.IntDigest(p.model)
	return p, p.restore()
}

// Model is the public model after the settled rounds.
func (p *Party) Model() []int64 { return p.model }

// State is the application's private state after the settled rounds.
func (p *Party) State() []byte { return p.state }

// Settled is how many rounds this party has settled.
func (p *Party) Settled() uint32 { return p.settled }

// Step takes one event. See protocol.Machine.
func (p *Party) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	p.eff, p.now = &eff, now
	switch e := ev.(type) {
	case protocol.Start:
		p.progress = now
		p.start()
	case protocol.Delivery:
		p.deliver(e.Data)
	case protocol.Proposal:
		p.proposal(e)
	}
	if !p.ended {
		p.advance()
	}
	if !p.ended {
		p.pump()
	}
	if !p.ended {
		p.prepare()
	}
	p.eff = nil
	return eff
}

func (p *Party) start() {
	if p.ended {
		p.eff.Finish(protocol.UnmarshalEnd(p.view.Get("done")))
		return
	}
	if p.now/1000 > p.bound.Plan.NotAfter {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "plan: %w", protocol.ErrExpired))
		return
	}
	if !p.waiting() && p.group != nil {
		p.sendOpens() // a channel may be durable whose Open never left
	}
	p.retransmit(true)
}

// finish stops the machine for a failure of this process alone, or because
// this party refuses to go on; what is stored stays.
func (p *Party) finish(err error) {
	p.ended = true
	p.eff.Finish(err)
}

// end stops the machine because the session is over, and forgets its keys and what was
// on its way: with the seed of its noise, somebody who gets the store later would take the
// noise off what others may have kept.
func (p *Party) end(err error) {
	p.finish(err)
	p.eff.Put("done", protocol.MarshalEnd(err))
	p.eff.Delete("group")
	p.forget()
	p.nextNoise, p.own, p.open = nil, nil, nil
	p.eff.Delete("want")
	for i := p.firstNode; i < uint32(len(p.bound.Plan.Members)); i++ { // in order: a step is a function of its event
		if p.links[i] != nil {
			p.eff.Delete(fmt.Sprintf("link/%d", i))
		}
	}
}

// errDuplicate is a message that was taken in before: nothing to say about it.
var errDuplicate = errors.New("duplicate")

func (p *Party) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	if protocol.IsChunk(data) {
		err = p.chunk(data)
	} else {
		e, err = p.message(data)
	}
	if err != nil && !errors.Is(err, errDuplicate) {
		p.eff.Note(p.bound.Refused(e, err))
	}
}

func (p *Party) message(data []byte) (*protocol.Envelope, error) {
	e, m, err := p.bound.Receive(data)
	if err != nil {
		return e, err
	}
	switch m := m.(type) {
	case *protocol.Key:
		return e, p.key(e.From, m)
	case *protocol.Group:
		return e, p.groupKey(m)
	case *protocol.Round:
		return e, p.openRound(m, data)
	case *protocol.Receipt:
		return e, p.receipt(e.From, m, data)
	case *protocol.Agree:
		return e, p.agree(e.From, m, data)
	case *protocol.Result:
		return e, p.result(m, data)
	case *protocol.Abort:
		p.end(m.Cause())
	}
	return e, nil
}

// advance does whatever the party is ready for: settle what is known, in
// order, then contribute to the attempt that is open.
func (p *Party) advance() {
	for !p.ended && p.settle() {
	}
	if !p.ended && p.open != nil && !p.proposing && p.ready() {
		p.ask()
	}
}

// ready: every node and the aggregator have their channel, and the attempt is
// on the model that this party has.
func (p *Party) ready() bool {
	return len(p.links) == p.computes+1 && p.open.Round == p.settled+1
}

// pump sends what is on its way, a window a step, and says the last thing again when
// nothing moves.
func (p *Party) pump() {
	if p.now >= p.backoff.Due(p.progress) {
		p.backoff.Retransmitted(p.now)
		p.retransmit(false)
	}
	if p.own != nil && p.own.out != nil {
		p.finishOn("contribution", p.sendWindow())
	}
	if p.ended {
		return
	}
	p.eff.Wake = max(p.backoff.Due(p.progress), p.now+1)
	if p.own != nil && p.own.out != nil {
		p.eff.Wake = p.now // there is more
	}
}

// finishOn ends this process on a failure of its own.
func (p *Party) finishOn(what string, err error) {
	if err != nil {
		p.finish(fmt.Errorf("round %d: %s: %w", p.latest.round, what, err))
	}
}

// shortVector is up to how many elements a resend is all of the contribution: 64 KiB.
const shortVector = 1 << 13

// retransmit says again what somebody may have missed: the channels until the
// session runs, the contribution until every node has given its receipt. Of a long
// vector the account alone goes first: a node that has the rest answers it with its
// receipt, and one that is slow isn't made slower by another 8 bytes an element. If
// that brings nothing, first thing in a life, and of a short vector, which costs little
// more than its account, all of it goes.
func (p *Party) retransmit(first bool) {
	waiting := p.waiting()
	if waiting || p.group == nil {
		p.sendOpens()
	}
	switch {
	case !waiting || p.own.out != nil:
	case p.own.head != nil && !p.own.manifestSent && !first && p.bound.Plan.Elements() > shortVector:
		p.own.manifestSent = true
		p.eff.Emit(p.bound.SubjectContribution(p.self, p.own.round, p.own.attempt), p.own.head)
	default:
		p.own.manifestSent = false
		p.finishOn("contribution", p.restartSending())
	}
}

// stored reads what this party persisted, the step under way included.
func (p *Party) stored(key string) []byte {
	return protocol.StepView{View: p.view, Step: p.eff}.Get(key)
}

func (p *Party) waiting() bool { return p.own != nil && len(p.own.receipts) < p.computes }

func (p *Party) sendOpens() {
	for i := p.firstNode; i < uint32(len(p.bound.Plan.Members)); i++ { // in order: a step is a function of its event
		if l := p.links[i]; l != nil {
			p.eff.Emit(p.bound.SubjectOpen(p.self, i), l.Open)
		}
	}
}
