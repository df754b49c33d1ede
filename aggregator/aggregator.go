// Package aggregator is the aggregator's role: it opens rounds, adds the compute nodes' partial
// sums, moves the public model and publishes the result. It is the last step of Algorithm 1 in
// [DCA]. It is trusted with no party's update: it sees only the noisy sum, the nodes choose the
// set that the sum is over, and every member recomputes the model from the announced sum. That
// the announced sum is the sum of the partial sums can be verified from its transcript, and not
// before.
//
// Aggregator is a pure state machine; see protocol.Machine for the driver's duties. Its durable
// state has these keys:
//
//	plan-key                     private HPKE key for this plan
//	group                        the plan's group key
//	channel/<member>             channel secret, and the Open that made it
//	model                        the public model, integers
//	round                        the attempt that is open
//	attempts                     attempts beyond the first, over all rounds
//	hold, agree, psum/<r>/<a>/.. what the nodes sent in the open attempt
//	confirming                   what the nodes are to confirm of the last result
//	confirm/<r>/<a>/<node>       Confirms of the last result
//	last/<n>                     the last result's signed messages, to retransmit
//	last/sum                     its aggregate, packed, to be sealed again; empty if that is the
//	                             model. When the group key has been deleted, the sealed chunks
//	                             are among last/<n>
//	spent/<n>                    the plan's ledger: a charge before each attempt, never deleted
//	transcript/<n>               the record for verification, in order
//	done                         the session is over
package aggregator

import (
	"errors"
	"fmt"
	"io"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/protocol"
)

// Config is what an aggregator starts from.
type Config struct {
	Session protocol.BoundPlan
	Key     protocol.Signer // *identity.PrivateKey
	Model   protocol.Model
	// Origin is the transcript's entry of the model that Model begins with, under a successor plan
	// (protocol.MarshalOrigin).
	Origin   []byte
	Rand     io.Reader     // for the plan key and the group key
	View     protocol.View // what was persisted before a restart
	ResendMS int64         // retransmit interval: resend the last messages if nothing arrives for this long
	// Ledger charges every attempt before it opens; nil keeps none. It covers this plan only:
	// the parties' ledgers know what they have spent on others.
	Ledger   Ledger
	GiveUpMS int64 // end the session when there is no progress for this long; 0: never
	// End ends the session for all members and for good with this reason; nil: it goes on. Its class is
	// ClassQuorum or ClassIntegrity.
	End error
	// Bases are what commitments open with under a plan with audit; derived when nil.
	Bases *commit.Generators
	// Accept accepts a channel that a member opens; channel.Accept when nil.
	Accept func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// Ledger records what the plan's attempts cost, as a party's own ledger does. Its entries are
// persisted with the opening of the attempt that they pay for.
type Ledger interface {
	Charge(round, attempt uint32) (entry []byte, seq uint64, err error)
	Append(entry []byte) error
}

// Aggregator is the aggregator in one plan.
type Aggregator struct {
	cfg       Config
	s         protocol.BoundPlan
	self      uint32
	parties   int
	nodes     int
	view      protocol.View
	eff       *protocol.Effects
	now       int64
	seen      int64 // time of the last progress
	wake      int64 // when it asked to be stepped next
	awake     int64 // since when the process has not been stopped, 0: always
	startedAt int64
	backoff   protocol.Backoff
	ended     bool

	planKey   *channel.PrivateKey
	keyMsg    []byte
	group     *channel.Secret // in round 1; see groupOf
	groups    *ratchet
	digests   *protocol.DigestKeys
	links     map[uint32]*protocol.Link // without the Opens, which are in the store
	nodeKeys  map[uint32]*ratchet       // of the nodes' links
	joined    int                       // parties among links
	groupMsgs map[uint32][]byte         // Group messages signed since the start, by party

	model       []int64
	modelDigest protocol.Digest
	maxSum      protocol.SumLimit
	spares      uint32 // attempts beyond the first, used so far

	at       attempt
	last     []protocol.Outgoing // the last result, to retransmit
	confirm  confirming          // the last result's
	settled  protocol.Digest     // ResultDigest of the last result of a sum
	over     bool                // the last sum is published: only Confirms are missing
	kept     int                 // how many of its messages are on record; its chunks follow from the sum
	recorded int                 // transcript entries
}

// attempt is the open attempt; round 0 before the first.
type attempt struct {
	round, number uint32
	open          []byte // the Round message
	holds         map[uint32]*protocol.Hold
	agrees        map[uint32]*protocol.Agree
	manifests     map[uint32]manifest
	partials      map[uint32]*partial
	total         *total           // of all chunks of partial sums received
	agreed        []protocol.Entry // the set, once all lists are here
	digest        *protocol.Digest // its digest
	present       int              // entries of the set, from the front, whose manifests are here
}

// manifest is the part of a party's signed contribution that is kept in memory.
type manifest struct{ bundle protocol.Digest }

// New builds the machine from its view.
func New(cfg Config) (*Aggregator, error) {
	self, ok := cfg.Session.Plan.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleAggregator) {
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"aggregator: %w: this identity is not the aggregator of plan %s",
			protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	p := cfg.Session.Plan
	a := &Aggregator{
		cfg:       cfg,
		s:         cfg.Session,
		self:      self,
		parties:   p.Parties(),
		nodes:     p.Computes(),
		view:      cfg.View,
		links:     map[uint32]*protocol.Link{},
		nodeKeys:  map[uint32]*ratchet{},
		groupMsgs: map[uint32][]byte{},
	}
	if cfg.ResendMS <= 0 {
		a.cfg.ResendMS = 15_000
	}
	a.backoff.Base = a.cfg.ResendMS
	if cfg.Accept == nil {
		a.cfg.Accept = channel.Accept
	}
	var err error
	if a.maxSum, err = p.MaxSum(); err != nil {
		return nil, err
	}
	if cfg.Bases == nil {
		if a.cfg.Bases, err = p.Generators(); err != nil {
			return nil, err
		}
	}
	if a.model = cfg.Model.Initial(); len(a.model) == 0 {
		return nil, errors.New("aggregator: the application has an empty model")
	}
	return a, a.restore()
}

// Model returns the public model after the last settled round.
func (a *Aggregator) Model() []int64 { return a.model }

// Step handles one event. See protocol.Machine.
func (a *Aggregator) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	a.eff = &eff
	a.now = now
	if a.wake > 0 && now-a.wake > stopped {
		a.awake = now
	}
	switch e := ev.(type) {
	case protocol.Start:
		a.start()
	case protocol.Delivery:
		a.deliver(e.Data)
	}
	if !a.ended {
		a.advance()
	}
	if !a.ended {
		a.checkProgress()
	}
	a.eff = nil
	return eff
}

func (a *Aggregator) start() {
	a.seen = a.now
	a.startedAt = a.now
	if a.ended {
		a.eff.Send = append(a.eff.Send, a.last...)
		a.eff.Finish(protocol.UnmarshalEnd(a.view.Get("done")))
		return
	}
	if a.s.Plan.Expired(a.now) {
		a.finish(protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired))
		return
	}
	if a.planKey == nil {
		if err := a.makeKeys(); err != nil {
			a.finish(err)
			return
		}
	}
	if a.cfg.End != nil {
		a.finish(a.cfg.End)
		return
	}
	a.resend()
}

// makeKeys draws the plan key and the group key, once per plan.
func (a *Aggregator) makeKeys() error {
	key, err := channel.GenerateKey(a.s.Plan.Suite, a.cfg.Rand)
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	stored, err := key.Bytes()
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	group := make([]byte, channel.SecretSize)
	if _, err := io.ReadFull(a.cfg.Rand, group); err != nil {
		return fmt.Errorf("group key: %w", err)
	}
	a.eff.Put("plan-key", stored)
	a.eff.Put("group", group)
	if err := a.useGroup(group); err != nil {
		return err
	}
	if err := a.useKey(key); err != nil {
		return err
	}
	a.record(a.keyMsg)
	a.record(protocol.TranscriptSecret(a.s.DigestSecret(a.group)))
	if a.s.Plan.After != nil {
		if _, err := a.s.Plan.OpenOrigin(a.cfg.Origin); err != nil {
			return err
		}
		a.record(a.cfg.Origin)
	}
	a.setModelDigest()
	return nil
}

// useGroup sets the group key of round 1. The aggregator keeps it to the end of the plan: a party that
// joins late reads all results. What it opens is in the transcript, too.
func (a *Aggregator) useGroup(key []byte) (err error) {
	if a.group, err = channel.NewSecret(key); err == nil {
		a.digests = protocol.NewDigestKeys(a.s.DigestSecret(a.group))
		a.groups = newRatchet(a.group)
	}
	return err
}

// groupOf returns the group key in a round.
func (a *Aggregator) groupOf(round uint32) *channel.Secret { return a.groups.in(round) }

// nodeSecret returns the secret of a compute node's channel in the open round, nil if there is none.
func (a *Aggregator) nodeSecret(node uint32) *channel.Secret {
	keys := a.nodeKeys[node]
	if keys == nil || a.at.round == 0 {
		return nil
	}
	return keys.in(a.at.round)
}

// digestKey returns the key of a round's digests.
func (a *Aggregator) digestKey(round uint32) protocol.DigestKey { return a.digests.Key(round) }

// setModelDigest sets the digest of the model on which the open attempt is, or round 1 will be.
func (a *Aggregator) setModelDigest() {
	if a.group != nil {
		a.modelDigest = protocol.IntDigest(a.digestKey(max(a.at.round, 1)-1), a.model)
	}
}

func (a *Aggregator) useKey(key *channel.PrivateKey) (err error) {
	a.planKey = key
	a.keyMsg, err = a.sign(&protocol.Key{Number: 1, Public: key.Public(), NotAfter: a.s.Plan.NotAfter})
	return err
}

func (a *Aggregator) sign(m protocol.Message) ([]byte, error) {
	return a.s.Sign(a.cfg.Key, a.self, m)
}

// record appends a message to the transcript.
func (a *Aggregator) record(data []byte) {
	a.eff.Put(fmt.Sprintf("transcript/%08d", a.recorded), data)
	a.recorded++
}

// check ends the aggregator on a failure of the attempt.
func (a *Aggregator) check(err error) {
	if err != nil && !a.ended {
		a.finish(fmt.Errorf("aggregator: round %d: %w", a.at.round, err))
	}
}

// finish stops the machine. After a failure of this process alone, of a disk for instance, a
// restarted one continues. The end of the session is made durable and sent to the members, and
// the keys are deleted.
func (a *Aggregator) finish(err error) {
	a.ended = true
	a.eff.Finish(err)
	class := protocol.ClassOf(err)
	if err != nil && class != protocol.ClassQuorum && class != protocol.ClassIntegrity {
		return
	}
	if err != nil {
		a.abort(err)
	}
	a.eff.Put("done", protocol.MarshalEnd(err))
	a.eff.Delete("plan-key")
	a.persistChunks()
	a.eff.Delete("group")
	for i := range a.self { // in order: a step is a function of its event
		if a.links[i] != nil {
			a.eff.Delete(fmt.Sprintf("channel/%d", i))
		}
	}
}

// abort sends the members the reason for the session's end. If a member contradicted what was
// signed, the evidence goes on record first. An error of signing does not replace the cause.
func (a *Aggregator) abort(cause error) {
	if protocol.ClassOf(cause) == protocol.ClassIntegrity && a.at.round > 0 {
		a.recordAttempt()
		a.recordPartials()
	}
	if b, err := a.sign(protocol.NewAbort(cause)); err == nil {
		a.record(b)
		a.sendKept(protocol.Outgoing{Subject: a.s.SubjectControl(), Data: b})
	}
}

func (a *Aggregator) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	if protocol.IsChunk(data) {
		err = a.chunk(data)
	} else {
		e, err = a.message(data)
	}
	a.s.Refuse(a.eff, e, err)
}

func (a *Aggregator) message(data []byte) (*protocol.Envelope, error) {
	e, m, err := a.s.Receive(data)
	if err != nil {
		return e, err
	}
	switch m := m.(type) {
	case *protocol.Open:
		return e, a.opened(e, m, data)
	case *protocol.Contribution:
		return e, a.contribution(e.From, m, data)
	case *protocol.Hold:
		return e, a.hold(e.From, m, data)
	case *protocol.Agree:
		return e, a.agree(e.From, m, data)
	case *protocol.Partial:
		return e, a.partial(e.From, m, data)
	case *protocol.Confirm:
		return e, a.confirmed(e.From, m, data)
	}
	return e, nil
}

// closes returns when the plan's expiry ends the session: at once before the first attempt, and when
// the one that was open can't be settled any more.
func (a *Aggregator) closes() int64 {
	if a.at.round == 0 {
		return a.s.Plan.Expiry()
	}
	return a.s.Plan.Settles(a.seen)
}

// stopped is how long after the time that it asked for a step shows that the process was stopped, ms. What
// members sent meanwhile may not have been read yet, and the aggregator does not give up for that.
const stopped = 5_000

// givesUp returns when the aggregator gives up, under Config.GiveUpMS.
func (a *Aggregator) givesUp() int64 { return max(a.seen, a.awake) + a.cfg.GiveUpMS }

// checkProgress gives up or retransmits when there was no progress for too long, and asks for
// the next tick.
func (a *Aggregator) checkProgress() {
	if a.now >= a.closes() {
		a.finish(protocol.Fail(protocol.ClassIntegrity, "%w: %s; %s", protocol.ErrExpired, a.place(), a.awaited()))
		return
	}
	if a.cfg.GiveUpMS > 0 && a.now >= a.givesUp() {
		a.finish(protocol.Fail(protocol.ClassQuorum,
			"%s: nothing has moved for %g s; too few members are there: %s", a.place(),
			float64(a.cfg.GiveUpMS)/1000, a.awaited()))
		return
	}
	if a.now >= a.backoff.Due(a.seen) {
		a.backoff.Retransmitted(a.now)
		a.resend()
	}
	wake := min(a.backoff.Due(a.seen), a.closes())
	if a.at.round == 0 {
		if d := a.startedAt + int64(a.s.Plan.DeadlineMS); d > a.now {
			wake = min(wake, d)
		}
	}
	if a.cfg.GiveUpMS > 0 {
		wake = min(wake, a.givesUp())
	}
	a.eff.Wake = max(wake, a.now+1)
	a.wake = a.eff.Wake
}

// resend retransmits the last messages.
func (a *Aggregator) resend() {
	a.eff.Emit(a.s.SubjectKey(a.self), a.keyMsg)
	a.eff.Send = append(a.eff.Send, a.last...)
	if a.at.open != nil {
		a.eff.Emit(a.s.SubjectControl(), a.at.open)
	}
}
