// Package party is the role of a data holder. For each attempt it contributes one noised and
// secret-shared update, and it settles its private state only when a signed result counts
// that contribution. It is client i of steps 1 and 2 of the distributed computation algorithm
// ([DCA], Algorithm 1; [Dissertation]).
//
// Party is a pure state machine; see protocol.Machine for the driver's duties. Its store has
//
//	link/<responder>                 the number of its key, all keys that were opened, the last Open
//	needs/<node>                     u32: number of the first key to which the channel can be
//	secrets/<n>                      the secrets of the round to be settled: see protocol.Keyring
//	group                            the message with the plan's group key, as it was sealed
//	settled                          u32: rounds settled so far
//	last                             ResultDigest of the last one's result
//	model                            the public model after them, packed integers
//	state                            the application's private state after them
//	attempt                          u32 round, u32 attempt: the last one contributed to
//	want                             an open attempt that this party has not contributed to
//	outbox                           seed and update, until every node has given a receipt:
//	                                 the contribution is derived from them each time it is sent
//	head, memo                       its manifest (signed Contribution), and Settle's input
//	receipt/<r>/<a>/<node>           receipts, kept for good
//	confirm/<r>/<a>/<node>, result/.. how a round ended, until it is settled
//	proof/<r>/<a>/<digest>           what the aggregator signed for an attempt, kept for good
//	ledger/<n>                       the privacy ledger: charges, written with the contribution
//	sum/<round>                      the sum of an accepted round, under Config.KeepSums
//	model-key                        the key of the model's digest, at the end
//	done                             how the session ended
package party

import (
	"bytes"
	"fmt"
	"io"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/noise"
	"choir/protocol"
)

// Config configures a Party.
type Config struct {
	Session protocol.BoundPlan
	Key     protocol.Signer // *identity.PrivateKey
	App     protocol.Application
	Ledger  Ledger        // charges every contribution
	Rand    io.Reader     // source of seeds; crypto/rand.Reader in production
	View    protocol.View // the party's store
	// ResendMS is the retransmit interval, in milliseconds: the last messages are sent
	// again if nothing arrives for this long. 0: 15 seconds.
	ResendMS int64
	// Window is how many bytes of a contribution are made and sent in one step, at least
	// one chunk. 0: 8 MiB.
	Window int
	// Ahead is the largest dimension for which noise is drawn before it is needed and kept
	// in memory, 8 bytes a coordinate. Above it noise is drawn chunk by chunk while the
	// contribution is sent. 0: 2^20; negative: never ahead.
	Ahead int
	// Bases are the generators of the commitments under a plan with audit; derived from the
	// plan if nil. Parties in one process may share them.
	Bases *commit.Generators
	// KeepSums stores the sums of all rounds for the application's Work.
	KeepSums bool
	// Sampler draws noise of the plan's variance; made when first needed if nil. Building
	// its tables can cost more than sampling, so parties in one process may share it.
	Sampler *noise.Gaussian
	// Initiate sets up a channel; channel.Initiate if nil.
	Initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
}

// Ledger is the party's privacy ledger. It is asked before each contribution, and the entry
// is stored in the same transaction as the contribution, before any byte of that is sent.
type Ledger interface {
	// Charge returns the next entry and its number, or an error if the budget does not
	// allow it. It does not add the entry: Append does. A nil entry means that there is
	// nothing to charge, as under a plan without noise.
	Charge(round, attempt uint32) (entry []byte, seq uint64, err error)
	// Append adds an entry that Charge returned or that the store has.
	Append(entry []byte) error
}

// Party is one party in one plan.
type Party struct {
	cfg       Config
	bound     protocol.BoundPlan
	self      uint32
	computes  int    // number of compute nodes
	firstNode uint32 // member index of the first compute node
	view      protocol.View
	eff       *protocol.Effects
	now       int64
	progress  int64 // when something last arrived or left
	backoff   protocol.Backoff
	ended     bool
	behind    bool // messages from before the start are still to come

	links map[uint32]*link // to the compute nodes and the aggregator
	// needs are the numbers of the keys for this party that a Confirm has announced, by node.
	needs map[uint32]uint32
	keys  *protocol.Keyring
	group []byte // the sealed group key, which is in keys; nil before

	settled     uint32
	model       []int64
	modelDigest protocol.Digest // once there is a group key
	lastResult  protocol.Digest // of the settled rounds
	state       []byte
	opened      []protocol.Opened // under KeepSums
	maxSum      protocol.SumLimit
	noise       *noise.Gaussian // made before the first contribution
	nextNoise   *drawn          // for the next contribution
	spare       []int64         // memory for a result, at least as long as one, or nil

	latest    pair            // the last attempt contributed to
	open      *protocol.Round // an open attempt that this party has not contributed to
	proposing bool            // its update is being computed
	own       *contribution   // to the latest attempt, until that is settled
	scratch   []byte          // memory for an opened chunk of a result
	hash      *protocol.ChunkHash
	results   map[pair]*result
	early     int // chunks that results buffer
	confirms  map[pair]map[uint32]*protocol.Confirm
	checking  *checking          // the result that waits for Confirms; nil: none
	computed  *protocol.Proposal // waits until it may be sent; nil: none
}

// pair names an attempt.
type pair struct{ round, attempt uint32 }

// after orders attempts by round, then by number.
func (p pair) after(q pair) bool {
	return p.round > q.round || (p.round == q.round && p.attempt > q.attempt)
}

// contribution is this party's contribution to an attempt.
type contribution struct {
	pair
	salt         protocol.Salt
	bundle       protocol.Digest // of the manifest
	manifest     []byte          // nil until the last chunk is made
	memo         []byte
	receipts     map[uint32]bool
	final        bool     // it is not sent any more: its outbox is deleted
	out          *sending // nil when it is not being sent
	manifestSent bool     // the manifest was sent again without its chunks
}

// New returns a party that resumes from its store.
func New(cfg Config) (*Party, error) {
	self, ok := cfg.Session.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleParty) {
		return nil, protocol.Fail(protocol.ClassIntegrity, "party: %w: this identity is not a party of plan %s",
			protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	plan := cfg.Session.Plan
	p := &Party{
		cfg:       cfg,
		bound:     cfg.Session,
		self:      self,
		computes:  plan.Computes(),
		firstNode: plan.Compute(0),
		view:      cfg.View,
		backoff:   protocol.Backoff{Base: cfg.ResendMS},
		links:     map[uint32]*link{},
		needs:     map[uint32]uint32{},
		keys:      protocol.NewKeyring(),
		model:     cfg.App.Initial(),
		state:     cfg.App.InitialState(),
		noise:     cfg.Sampler,
		results:   map[pair]*result{},
		hash:      protocol.NewChunkHash(),
		confirms:  map[pair]map[uint32]*protocol.Confirm{},
	}
	var err error
	if p.maxSum, err = plan.MaxSum(); err != nil {
		return nil, err
	}
	return p, p.restore()
}

// complete sets the defaults and checks what the plan restricts.
func (c *Config) complete() (err error) {
	if c.ResendMS <= 0 {
		c.ResendMS = 15_000
	}
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if c.Ahead == 0 {
		c.Ahead = defaultAhead
	}
	if c.Initiate == nil {
		c.Initiate = channel.Initiate
	}
	if c.Bases == nil {
		if c.Bases, err = c.Session.Plan.Generators(); err != nil {
			return err
		}
	}
	if c.Sampler != nil {
		variance := c.Session.Plan.Variance
		if num, den := c.Sampler.Variance(); num != variance || den != 1 {
			return protocol.Fail(protocol.ClassFailed, "party: the sampler's variance is %d/%d, the plan's is %d", num,
				den, variance)
		}
	}
	return nil
}

// Model returns the public model after the settled rounds.
func (p *Party) Model() []int64 { return p.model }

// State returns the application's private state after the settled rounds.
func (p *Party) State() []byte { return p.state }

// Settled returns the number of settled rounds.
func (p *Party) Settled() uint32 { return p.settled }

// Step implements protocol.Machine.
func (p *Party) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	p.eff, p.now = &eff, now
	switch e := ev.(type) {
	case protocol.Start:
		p.progress = now
		p.behind = e.Behind
		p.start()
	case protocol.CaughtUp:
		p.behind = false
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
	p.keys.Store(p.eff)
	p.eff = nil
	return eff
}

func (p *Party) start() {
	if p.ended {
		p.eff.Finish(protocol.UnmarshalEnd(p.view.Get("done")))
		return
	}
	if p.bound.Plan.Expired(p.now) {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired))
		return
	}
	if !p.waiting() && p.group != nil {
		p.sendOpens() // a channel may be durable whose Open was never sent
	}
	p.retransmit(true)
}

// finish stops this process and keeps the store: the process failed, or the party refuses to
// go on.
func (p *Party) finish(err error) {
	p.ended = true
	p.eff.Finish(err)
}

// finishOn stops this process if err is not nil.
func (p *Party) finishOn(what string, err error) {
	if err != nil {
		p.finish(fmt.Errorf("round %d: %s: %w", p.latest.round, what, err))
	}
}

// end stops the machine because the session is over. It deletes the keys and the outbox:
// with the noise seed, a later reader of the store could remove the noise from a
// contribution that was recorded on the bus.
func (p *Party) end(err error) {
	p.finish(err)
	p.eff.Put("done", protocol.MarshalEnd(err))
	if p.keys.Has(protocol.Digests) && p.settled > 0 { // for a successor plan: it opens nothing else
		key := p.digestKey(p.settled)
		p.eff.Put("model-key", key[:])
	}
	p.eff.Delete("group")
	p.keys.Erase(p.eff)
	p.deleteContribution()
	p.nextNoise = nil
	p.own = nil
	p.open = nil
	p.eff.Delete("want")
	for i := p.firstNode; i < p.members(); i++ {
		if p.links[i] != nil {
			p.eff.Delete(fmt.Sprintf("link/%d", i))
		}
		if p.needs[i] > 0 {
			p.eff.Delete(fmt.Sprintf("needs/%d", i))
		}
	}
}

func (p *Party) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	if p.own != nil && bytes.Equal(data, p.own.manifest) {
		return // the bus delivers this party's contribution to itself, too
	}
	if protocol.IsChunk(data) {
		err = p.chunk(data)
	} else {
		e, err = p.message(data)
	}
	p.bound.Refuse(p.eff, e, err)
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
	case *protocol.Contribution:
		return e, p.ownContribution(e.From, m)
	case *protocol.Receipt:
		return e, p.receipt(e.From, m, data)
	case *protocol.Confirm:
		return e, p.confirm(e.From, m, data)
	case *protocol.Result:
		return e, p.result(m, data)
	case *protocol.Abort:
		p.end(m.Cause())
	}
	return e, nil
}

// advance settles the results that are complete, in order, and then asks for an update for
// the open attempt.
func (p *Party) advance() {
	for !p.ended && p.settle() {
	}
	if p.computed != nil && !p.ended && p.maySend() {
		e := *p.computed
		p.computed = nil
		p.proposal(e)
	}
	if !p.ended && !p.behind && p.open != nil && !p.proposing && p.ready() {
		p.propose()
	}
}

// ready reports whether all channels and the group key are set up and the open attempt follows the settled
// rounds.
func (p *Party) ready() bool {
	return p.group != nil && len(p.links) == p.computes+1 && p.open.Round == p.settled+1
}

// pump retransmits when the interval is over, and sends the next window of the contribution
// that is being sent. It ends the party when the plan has expired and the aggregator is silent.
func (p *Party) pump() {
	if p.now >= p.bound.Plan.Leaves(p.progress) {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "%w: %d of %d rounds are settled", protocol.ErrExpired,
			p.settled, p.bound.Plan.Rounds))
		return
	}
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
	p.eff.Wake = max(min(p.backoff.Due(p.progress), p.bound.Plan.Leaves(p.progress)), p.now+1)
	if p.own != nil && p.own.out != nil {
		p.eff.Wake = p.now // there is more to send
	}
}

// shortVector is the number of elements, 64 KiB, up to which a whole contribution is
// retransmitted at once.
const shortVector = 1 << 13

// retransmit sends again what may have been lost: the Opens until there is a group key, and
// the contribution until every node has given a receipt. For a vector longer than
// shortVector the manifest goes first, without the chunks: a node that has the chunks
// answers with a receipt, and a slow node is not slowed down by another 8 bytes an element.
// If no receipt follows, or after a restart, the whole contribution is sent.
func (p *Party) retransmit(restarted bool) {
	waiting := p.waiting()
	if waiting || p.group == nil || !p.linked() {
		p.sendOpens()
	}
	switch {
	case !waiting || p.own.out != nil:
	case p.own.manifest != nil && !p.own.manifestSent && !restarted && p.bound.Plan.Elements() > shortVector:
		p.own.manifestSent = true
		p.eff.Emit(p.bound.SubjectContribution(p.self, p.own.round, p.own.attempt), p.own.manifest)
	default:
		p.own.manifestSent = false
		p.finishOn("contribution", p.restartSending())
	}
}

// store is the party's view with the records of the current step.
func (p *Party) store() protocol.StepView { return protocol.StepView{View: p.view, Step: p.eff} }

// waiting reports whether a node's receipt is missing.
func (p *Party) waiting() bool {
	return p.own != nil && !p.own.final && len(p.own.receipts) < p.computes
}

// members is the size of the roster.
func (p *Party) members() uint32 { return uint32(len(p.bound.Plan.Members)) }

// sendOpens sends the Opens in roster order, so that a step depends on its event alone.
func (p *Party) sendOpens() {
	for i := p.firstNode; i < p.members(); i++ {
		if l := p.links[i]; l != nil {
			p.eff.Emit(p.bound.SubjectOpen(p.self, i), l.open)
		}
	}
}
