// Package aggregator is the aggregator's role: it opens rounds, adds the
// compute nodes' partial sums, moves the public model and publishes the result
// (dissertation, Paper I, Algorithm 1, the last step: "a final aggregator").
// It is trusted with no party's update: it sees only the noisy sum, the set that it
// sums over is the nodes' to choose, and everybody recomputes the model that follows
// from the sum that it announces. That it announces the sum of the partial sums, its
// transcript shows, and nothing before.
//
// Aggregator is a pure state machine; see protocol.Machine for the driver's
// duties. What it remembers across crashes:
//
//	plan-key                     private HPKE key for this plan
//	group                        the plan's group key
//	channel/<member>             channel secret, and the Open that made it
//	model                        the public model, integers
//	round                        the attempt that is open
//	attempts                     attempts beyond the first, over all rounds
//	hold, agree, psum/<r>/<a>/.. what the nodes said in the open attempt
//	last/<n>                     the last result's signed messages, to say again
//	last/sum                     its aggregate, packed, to be sealed again; empty if that is the model. Once
//	                             the key for that is gone, the sealed chunks are among last/<n>
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
	Session  protocol.BoundPlan
	Key      protocol.Signer // *identity.PrivateKey
	Model    protocol.Model
	Rand     io.Reader     // for the plan key and the group key
	View     protocol.View // what an earlier life persisted
	ResendMS int64         // how long to wait for progress before saying the last thing again
	// Ledger charges every attempt before it opens; nil keeps none. It is the plan's
	// alone: what the parties have spent elsewhere is theirs to know.
	Ledger   Ledger
	GiveUpMS int64 // end the session when nothing has moved for this long; 0: never
	// Bases are what commitments open with under a plan with audit; derived when nil.
	Bases *commit.Generators
	// Accept takes in a channel that a member sets up; channel.Accept when nil.
	Accept func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// Ledger is the account of what the plan's attempts cost, as a party keeps one
// of its own. Its entries are persisted with the opening of the attempt that they
// pay for.
type Ledger interface {
	Charge(round, attempt uint32) (entry []byte, seq uint64, err error)
	Append(entry []byte) error
}

// Aggregator is the aggregator in one plan.
type Aggregator struct {
	cfg   Config
	s     protocol.BoundPlan
	self  uint32
	n, m  int
	view  protocol.View
	eff   *protocol.Effects
	now   int64
	seen  int64 // when something last moved
	pause protocol.Backoff
	ended bool

	planKey *channel.PrivateKey
	keyMsg  []byte
	group   *channel.Secret
	links   map[uint32]*protocol.Link // without the Opens, which are on disk
	groups  map[uint32][]byte         // Group messages that this life has signed
	parties int                       // of links, those of parties
	began   int64                     // when this life started waiting for parties

	model       []int64
	modelDigest protocol.Digest
	maxSum      uint64
	spares      uint32 // attempts beyond the first, used so far
	at          attempt
	last        []protocol.Outgoing // the last result, to say again
	kept        int                 // how many of its messages are on record; its chunks follow from the sum
	recorded    int                 // transcript entries
}

// attempt is the open attempt; round 0 before the first.
type attempt struct {
	round, attempt uint32
	open           []byte // the Round message
	holds          map[uint32]*protocol.Hold
	agrees         map[uint32]*protocol.Agree
	commits        map[uint32]account
	partials       map[uint32]*partial
	total          *total           // of all chunks of partial sums that are here
	agreed         []protocol.Entry // the set, once all lists are here
	digest         *protocol.Digest // its digest
	accounts       int              // how many of the set's accounts, from the front, are known to be here
}

// account is what matters of a party's signed contribution, which is on disk.
type account struct {
	bundle     protocol.Digest
	commitment commit.Commitment
}

// New builds the machine from its view.
func New(cfg Config) (*Aggregator, error) {
	self, ok := cfg.Session.Plan.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleAggregator) {
		return nil, protocol.Fail(protocol.ClassIntegrity, "aggregator: %w: this identity isn't the aggregator of plan %s", protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	p := cfg.Session.Plan
	a := &Aggregator{cfg: cfg, s: cfg.Session, self: self, n: p.Parties(), m: p.Computes(), view: cfg.View, links: map[uint32]*protocol.Link{}, groups: map[uint32][]byte{}}
	if cfg.ResendMS <= 0 {
		a.cfg.ResendMS = 15_000
	}
	a.pause.Base = a.cfg.ResendMS
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
		return nil, fmt.Errorf("aggregator: the application has an empty model")
	}
	a.modelDigest = protocol.IntDigest(a.model)
	return a, a.restore()
}

// Model is the public model as of the last settled round.
func (a *Aggregator) Model() []int64 { return a.model }

// Step takes one event. See protocol.Machine.
func (a *Aggregator) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	a.eff, a.now = &eff, now
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
		a.idle()
	}
	a.eff = nil
	return eff
}

func (a *Aggregator) start() {
	a.seen, a.began = a.now, a.now
	if a.ended {
		a.eff.Send = append(a.eff.Send, a.last...)
		a.eff.Finish(protocol.UnmarshalEnd(a.view.Get("done")))
		return
	}
	if a.now/1000 > a.s.Plan.NotAfter {
		a.finish(protocol.Fail(protocol.ClassIntegrity, "plan: %w", protocol.ErrExpired))
		return
	}
	if a.planKey == nil {
		if err := a.makeKeys(); err != nil {
			a.finish(err)
			return
		}
	}
	a.repeat()
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
	if a.group, err = channel.NewSecret(group); err != nil {
		return err
	}
	if err := a.useKey(key); err != nil {
		return err
	}
	a.record(a.keyMsg)
	return nil
}

func (a *Aggregator) useKey(key *channel.PrivateKey) (err error) {
	a.planKey = key
	a.keyMsg, err = a.sign(&protocol.Key{Public: key.Public(), NotAfter: a.s.Plan.NotAfter})
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

// finish stops the machine. A failure of this process alone (a broken disk,
// say) leaves everything as it is, for another life to carry on; an end of the
// session itself is made durable, told to the members, and the keys go.
func (a *Aggregator) finish(err error) {
	a.ended = true
	a.eff.Finish(err)
	if class := protocol.ClassOf(err); err != nil && class != protocol.ClassQuorum && class != protocol.ClassIntegrity {
		return
	}
	if err != nil {
		a.abort(err)
	}
	a.eff.Put("done", protocol.MarshalEnd(err))
	a.eff.Delete("plan-key")
	a.keepChunks()
	a.eff.Delete("group")
	for i := range a.self { // in order: a step is a function of its event
		if a.links[i] != nil {
			a.eff.Delete(fmt.Sprintf("channel/%d", i))
		}
	}
}

// abort tells the members that and why the session ends; a failure to say so
// doesn't hide the failure itself. When somebody contradicted what was signed,
// what they signed goes on record first.
func (a *Aggregator) abort(cause error) {
	if protocol.ClassOf(cause) == protocol.ClassIntegrity && a.at.round > 0 {
		a.recordAttempt()
		a.recordPartials()
	}
	if b, err := a.sign(protocol.NewAbort(cause)); err == nil {
		a.record(b)
		a.say(protocol.Outgoing{Subject: a.s.SubjectControl(), Data: b})
	}
}

// errDuplicate is a message that was taken in before: nothing to say about it.
var errDuplicate = errors.New("duplicate")

func (a *Aggregator) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	if protocol.IsChunk(data) {
		err = a.chunk(data)
	} else {
		e, err = a.message(data)
	}
	if err != nil && !errors.Is(err, errDuplicate) {
		a.eff.Note(a.s.Refused(e, err))
	}
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
		return e, a.commit(e.From, m, data)
	case *protocol.Hold:
		return e, a.hold(e.From, m, data)
	case *protocol.Agree:
		return e, a.agree(e.From, m, data)
	case *protocol.Partial:
		return e, a.partial(e.From, m, data)
	}
	return e, nil
}

// idle says the last thing again when nothing moves, gives up when nothing has
// moved for too long, and asks for a tick.
func (a *Aggregator) idle() {
	if a.cfg.GiveUpMS > 0 && a.now >= a.seen+a.cfg.GiveUpMS {
		a.finish(protocol.Fail(protocol.ClassQuorum, "round %d attempt %d: nothing has moved for %d s; too few members are there", a.at.round, a.at.attempt, a.cfg.GiveUpMS/1000))
		return
	}
	if a.now >= a.pause.Due(a.seen) {
		a.pause.Retransmitted(a.now)
		a.repeat()
	}
	wake := a.pause.Due(a.seen)
	if a.at.round == 0 {
		if d := a.began + int64(a.s.Plan.DeadlineMS); d > a.now {
			wake = min(wake, d)
		}
	}
	if a.cfg.GiveUpMS > 0 {
		wake = min(wake, a.seen+a.cfg.GiveUpMS)
	}
	a.eff.Wake = max(wake, a.now+1)
}

func (a *Aggregator) repeat() {
	a.eff.Emit(a.s.SubjectKey(a.self), a.keyMsg)
	a.eff.Send = append(a.eff.Send, a.last...)
	if a.at.open != nil {
		a.eff.Emit(a.s.SubjectControl(), a.at.open)
	}
}
