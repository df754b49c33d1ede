// Package compute is the compute node's role: it takes in the parties' shares,
// agrees with the other nodes on whose contributions count, and reveals at most
// one partial sum per round, ever (DESIGN decision 8). It is Compute k of the
// DCA (dissertation, Paper I, Algorithm 1), step 3.
//
// Node is a pure state machine; see protocol.Machine for the driver's duties.
// What it remembers across crashes is in its view, under these keys:
//
//	plan-key                      private HPKE key for this plan
//	channel/<party>               channel secret, and the Open that made it
//	aggregator                    channel secret to the aggregator, and its Open
//	round                         the attempt that this node is in
//	share/<r>/<a>/<party>/<i>     a sealed chunk of an explicit share
//	commit/<r>/<a>/<party>        a complete contribution's envelope
//	hold/<r>/<a>/<node>           holds, its own and the others'
//	agree/<r>/<a>/<node>          agrees, its own and the others'
//	reveal/<r>                    what was signed to be revealed in the round: never two
//	partial/<r>/<i>               a sealed chunk of it, until the round is settled
//	last                          the parties of the last revealed set
//	done                          the plan's last result was seen
//	workers                       how many workers it shares its work out to, if any
//
// A node may be several processes: see Group and Worker.
package compute

import (
	"errors"
	"fmt"
	"io"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// Config is what a compute node starts from.
type Config struct {
	Session  protocol.BoundPlan
	Key      protocol.Signer // *identity.PrivateKey
	Rand     io.Reader       // for the plan key and the noise of NoiseCompute
	View     protocol.View   // what an earlier life persisted
	ResendMS int64           // how long to wait for progress before saying the last thing again
	Group    Group           // the workers that take in the contributions; zero: none
	// Initiate sets up the channel to the aggregator; channel.Initiate when nil.
	Initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
	// Accept takes in a channel that a party sets up; channel.Accept when nil.
	Accept func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// Node is one compute node in one plan.
type Node struct {
	cfg   Config
	s     protocol.BoundPlan
	self  uint32 // member index
	k     int    // 0..M-1
	n, m  int    // parties, nodes
	view  protocol.View
	eff   *protocol.Effects // of the step under way
	now   int64
	seen  int64 // when something last moved
	pause protocol.Backoff
	ended bool
	room  protocol.Effects // where eff is, in a step

	planKey  *channel.PrivateKey
	keyMsg   []byte
	channels []*channel.Secret   // by party, nil before its Open, which is on disk
	joined   int                 // how many there are
	scratch  []byte              // room for an opened chunk
	chunkSum *protocol.ChunkHash // and for a chunk's digest
	adder    share.Adder
	agg      *protocol.Link // nil until the aggregator's key is known

	at      attempt
	last    []uint32            // parties in the previous round's set, in order
	newest  uint32              // highest round this node has revealed in
	current []protocol.Outgoing // what this node says again until something moves

	group  *group  // of a node with workers
	worker *Worker // whose intake this is, when it isn't a node's own
}

// attempt is everything about the attempt that the node is in.
type attempt struct {
	round, attempt uint32
	openedAt       int64
	model          protocol.Digest
	parties        []contribution // by party
	complete       int
	expected       int           // of those complete, parties of the previous round's set
	acc            field.Vector  // sum of every share taken in so far, less
	pending        []*xof.Stream // those that wait to be added
	phase          phase         // only enter and restore set it
	allAt          int64         // when all expected parties were complete, 0 before
	holds          map[uint32]*protocol.Hold
	covered        map[uint32]int // by hold, how many of its entries, from the front, this node has
	agrees         map[uint32]*protocol.Agree
	set            []protocol.Entry
	sealed         *sealed             // of what will be revealed, from agreed on
	receipts       []*protocol.Receipt // to be signed and given
}

// New builds the machine from its view.
func New(cfg Config) (*Node, error) {
	self, ok := cfg.Session.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleCompute) {
		return nil, protocol.Fail(protocol.ClassIntegrity, "compute node: %w: this identity isn't a compute node of plan %s", protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	if err := cfg.Group.Validate(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "compute node: %w", err)
	}
	p := cfg.Session.Plan
	n := &Node{cfg: cfg, s: cfg.Session, self: self, k: int(self) - p.Parties(), n: p.Parties(), m: p.Computes(),
		view: cfg.View, channels: make([]*channel.Secret, p.Parties())}
	if cfg.ResendMS <= 0 {
		n.cfg.ResendMS = 15_000
	}
	n.pause.Base = n.cfg.ResendMS
	if cfg.Initiate == nil {
		n.cfg.Initiate = channel.Initiate
	}
	if cfg.Accept == nil {
		n.cfg.Accept = channel.Accept
	}
	if cfg.Group.Workers > 0 {
		n.group = newGroup(n.s)
	}
	return n, n.restore()
}

// Step takes one event. See protocol.Machine.
func (n *Node) Step(now int64, ev protocol.Event) protocol.Effects {
	n.eff, n.now = &n.room, now
	switch e := ev.(type) {
	case protocol.Start:
		n.seen = now
		n.start()
	case protocol.Delivery:
		n.deliver(e.Data)
	}
	if d, ok := ev.(protocol.Delivery); (!ok || !d.More) && !n.ended {
		n.must(n.giveReceipts())
	}
	if !n.ended {
		n.advance()
		n.resend()
		n.eff.Wake = n.wake()
		n.prepare()
	}
	eff := n.room
	n.eff, n.room = nil, protocol.Effects{} // what is in it is the driver's now
	return eff
}

// start publishes the plan key, unless every party has it, and says again
// whatever was said last.
func (n *Node) start() {
	if n.ended { // an earlier life saw the last result
		n.eff.Finish(protocol.UnmarshalEnd(n.view.Get("done")))
		return
	}
	if n.now/1000 > n.s.Plan.NotAfter {
		n.finish(protocol.Fail(protocol.ClassIntegrity, "plan: %w", protocol.ErrExpired))
		return
	}
	if err := n.pinWorkers(); err != nil {
		n.finish(err)
		return
	}
	if n.planKey == nil {
		if err := n.makeKey(); err != nil {
			n.finish(err)
			return
		}
	}
	n.repeat()
}

func (n *Node) makeKey() error {
	key, err := channel.GenerateKey(n.s.Plan.Suite, n.cfg.Rand)
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	stored, err := key.Bytes()
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	n.eff.Put("plan-key", stored)
	return n.useKey(key)
}

func (n *Node) useKey(key *channel.PrivateKey) (err error) {
	n.planKey = key
	n.keyMsg, err = n.sign(&protocol.Key{Public: key.Public(), NotAfter: n.s.Plan.NotAfter})
	return err
}

func (n *Node) sign(m protocol.Message) ([]byte, error) { return n.s.Sign(n.cfg.Key, n.self, m) }

// send signs, persists under key, and only then emits: what a node signs about
// an attempt it never contradicts after a crash.
func (n *Node) send(key, subject string, m protocol.Message) error {
	b, err := n.sign(m)
	if err != nil {
		return err
	}
	n.eff.Put(key, b)
	n.eff.Emit(subject, b)
	n.seen = n.now
	return nil
}

func (n *Node) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	switch {
	case protocol.IsWorker(data):
		err = n.fromWorker(data)
	case protocol.IsChunk(data):
		err = n.chunk(data)
	default:
		e, err = n.message(data)
	}
	if err != nil && !errors.Is(err, errDuplicate) {
		n.eff.Note(n.s.Refused(e, err))
	}
}

// errDuplicate is a message that was taken in before: nothing to say about it.
var errDuplicate = errors.New("duplicate")

func (n *Node) message(data []byte) (*protocol.Envelope, error) {
	e, m, err := n.s.Receive(data)
	if err != nil {
		return e, err
	}
	switch m := m.(type) {
	case *protocol.Key:
		return e, n.aggregatorKey(e, m)
	case *protocol.Open:
		return e, n.opened(e, m, data)
	case *protocol.Round:
		return e, n.opens(m, data)
	case *protocol.Contribution:
		if n.group != nil {
			return e, fmt.Errorf("%w: a contribution, which is for a worker", protocol.ErrUnknown)
		}
		return e, n.contribution(e.From, m, data)
	case *protocol.Hold:
		return e, n.peerHold(e.From, m, data)
	case *protocol.Agree:
		return e, n.peerAgree(e.From, m, data)
	case *protocol.Result:
		return e, n.result(m)
	case *protocol.Abort:
		n.end(m.Cause())
	}
	return e, nil
}

// finish stops the machine for a failure of this process alone; another life
// carries on.
func (n *Node) finish(err error) {
	n.ended = true
	n.eff.Finish(err)
}

// end stops the machine because the session is over, and forgets its keys.
func (n *Node) end(err error) {
	n.finish(err)
	n.dismiss()
	n.eff.Put("done", protocol.MarshalEnd(err))
	n.eff.Delete("plan-key")
	n.eff.Delete("aggregator")
	n.forgetChannels()
}
