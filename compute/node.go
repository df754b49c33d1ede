// Package compute is the compute node's role: it receives the parties' shares, agrees with the
// other nodes on whose contributions count, and reveals at most one partial sum per round. It
// is Compute k of the DCA, step 3 of Algorithm 1 in [DCA].
//
// Node is a pure state machine; see protocol.Machine for the driver's duties. It keeps its
// durable state in its view, under these keys:
//
//	plan-key                      private HPKE key, as long as a party has no channel
//	key                           the Key message
//	secrets/<n>                   the secrets of the round: those of its channels, and its own, from
//	                              which its noise and its salts follow (see protocol.Keyring)
//	channel/<party>               digest of the Open that set up the channel
//	aggregator                    the Open of the channel to the aggregator
//	round                         the present attempt
//	share/<r>/<a>/<party>/<i>     a sealed chunk of an explicit share
//	commit/<r>/<a>/<party>        a complete contribution's envelope
//	hold/<r>/<a>/<node>           holds, its own and the others'
//	agree/<r>/<a>/<node>          agrees, its own and the others'
//	reveal/<r>                    what was signed to be revealed in the round: never two
//	partial/<r>/<i>               a sealed chunk of it, until the round is settled
//	confirm/<r>/<a>               the Confirms of this round, and of the end of the last one
//	result                        a Result that came before older messages were read
//	next                          a Round that came before the result of the attempt before
//	settled                       ResultDigest of the last result, of a sum
//	last                          the parties of the last revealed set
//	done                          the session's end
//	workers                       how many workers it has, if any
//
// A node may be several processes: see Group and Worker.
package compute

import (
	"fmt"
	"io"

	"choir/crypto/channel"
	"choir/protocol"
)

// Config is what a compute node starts from.
type Config struct {
	Session  protocol.BoundPlan
	Key      protocol.Signer // *identity.PrivateKey
	Rand     io.Reader       // for the plan key and the noise of NoiseCompute
	View     protocol.View   // what was persisted before a restart
	ResendMS int64           // retransmit interval: resend the last messages if nothing arrives for this long
	Group    Group           // the workers that receive the contributions; zero: none
	// Initiate opens the channel to the aggregator; channel.Initiate when nil.
	Initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
	// Accept accepts a channel that a party opens; channel.Accept when nil.
	Accept func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// Node is one compute node in one plan.
type Node struct {
	intake
	cfg     Config
	seen    int64 // time of the last progress
	backoff protocol.Backoff
	ended   bool
	effects protocol.Effects // what eff points to during a step

	planKey   *channel.PrivateKey // nil when all parties have a channel
	keyNumber uint32
	keyUsed   bool // a party may have opened a channel to the key
	keyMsg    []byte
	behind    bool   // messages from before the start are still to come
	agg       []byte // the Open to the aggregator, nil until its key is known
	group     *group // of a node with workers
	// workerKeys are those of the workers, as far as they were needed.
	workerKeys map[uint32]*channel.Secret
	toWorkers  map[uint32]*sender // by worker: for the channels

	at       agreement
	last     []uint32            // parties in the previous round's set, in order
	settled  protocol.Digest     // of the previous round's result
	confirms []protocol.Outgoing // the Confirms of this round, and of the end of the last one
	result   []byte              // a Result that came before the node could check it, nil: none
	next     []byte              // a Round that waits for the result before it, nil: none
	newest   uint32              // highest round in which this node has revealed
	resends  []protocol.Outgoing // messages to retransmit until there is progress
}

// agreement is the state of an attempt apart from its contributions.
type agreement struct {
	phase    phase // set by setPhase
	openedAt int64
	expected int   // complete contributions of parties of the previous round's set
	allAt    int64 // when all of those were complete, 0 before
	holds    map[uint32]*protocol.Hold
	covered  map[uint32]int // by hold, how many of its entries, from the front, this node has
	agrees   map[uint32]*protocol.Agree
	set      []protocol.Entry
	digest   protocol.Digest     // of the set, once all lists are here
	out      *outgoingSum        // what will be revealed, once the set is known
	receipts []*protocol.Receipt // to be signed and sent
}

// New builds the machine from its view.
func New(cfg Config) (*Node, error) {
	self, ok := cfg.Session.Index(cfg.Key.Public())
	if !ok || !cfg.Session.Plan.Is(self, protocol.RoleCompute) {
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"compute node: %w: this identity is not a compute node of plan %s",
			protocol.ErrUnknown, cfg.Session.ID.Short())
	}
	if err := cfg.Group.Validate(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "compute node: %w", err)
	}
	n := &Node{intake: newIntake(cfg.Session, self, cfg.View), cfg: cfg}
	n.complete = n.contributed
	if cfg.ResendMS <= 0 {
		n.cfg.ResendMS = 15_000
	}
	n.backoff.Base = n.cfg.ResendMS
	if cfg.Initiate == nil {
		n.cfg.Initiate = channel.Initiate
	}
	if cfg.Accept == nil {
		n.cfg.Accept = channel.Accept
	}
	if cfg.Group.Workers > 0 {
		n.workerKeys = map[uint32]*channel.Secret{}
		n.toWorkers = map[uint32]*sender{}
		n.group = newGroup(n.s)
	}
	return n, n.restore()
}

// Step handles one event. See protocol.Machine.
func (n *Node) Step(now int64, ev protocol.Event) protocol.Effects {
	n.eff = &n.effects
	n.now = now
	switch e := ev.(type) {
	case protocol.Start:
		n.seen = now
		n.behind = e.Behind
		n.start()
	case protocol.CaughtUp:
		n.behind = false
		n.check(n.caughtUp())
	case protocol.Delivery:
		n.deliver(e.Data)
	}
	d, ok := ev.(protocol.Delivery)
	if (!ok || !d.More) && !n.ended {
		n.check(n.sendReceipts())
	}
	if !n.ended {
		n.advance()
		n.leaveIfExpired()
	}
	if !n.ended {
		n.resendIfDue()
		n.eff.Wake = n.wake()
		n.sealAhead()
	}
	if !ok || !d.More || n.ended {
		n.keys.Store(n.eff)
	}
	eff := n.effects
	n.eff = nil
	n.effects = protocol.Effects{} // the driver owns what was in it
	return eff
}

// start publishes the plan key, unless every party has it, and retransmits the last messages.
func (n *Node) start() {
	if n.ended { // the session ended before the restart
		n.eff.Send = append(n.eff.Send, n.confirms...)
		n.eff.Finish(protocol.UnmarshalEnd(n.view.Get("done")))
		return
	}
	if n.s.Plan.Expired(n.now) {
		n.finish(protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired))
		return
	}
	if err := n.pinWorkers(); err != nil {
		n.finish(err)
		return
	}
	if n.keyMsg == nil {
		if err := n.begun(); err != nil {
			n.finish(err)
			return
		}
	}
	n.resend()
}

// begun makes what the node needs once a plan: its first key, and its own secret.
func (n *Node) begun() error {
	b := make([]byte, channel.SecretSize)
	if _, err := io.ReadFull(n.cfg.Rand, b); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	own, err := channel.NewSecret(b)
	if err != nil {
		return err
	}
	n.keys.Add(protocol.Own, 1, own)
	return n.makeKey(nil)
}

func (n *Node) sign(m protocol.Message) ([]byte, error) { return n.s.Sign(n.cfg.Key, n.self, m) }

// send signs a message, persists it under key, emits it, and keeps it for retransmission.
// Persisting it keeps the node from contradicting it after a restart.
func (n *Node) send(key, subject string, m protocol.Message) error {
	b, err := n.sign(m)
	if err != nil {
		return err
	}
	n.eff.Put(key, b)
	n.eff.Emit(subject, b)
	n.resends = append(n.resends, protocol.Outgoing{Subject: subject, Data: b})
	n.seen = n.now
	return nil
}

func (n *Node) deliver(data []byte) {
	var e *protocol.Envelope
	var err error
	switch {
	case protocol.IsWorker(data):
		err = n.workerMessage(data)
	case protocol.IsChunk(data):
		err = n.chunk(data)
	default:
		e, err = n.message(data)
	}
	n.s.Refuse(n.eff, e, err)
}

func (n *Node) message(data []byte) (*protocol.Envelope, error) {
	e, m, err := n.s.Receive(data)
	if err != nil {
		return e, err
	}
	switch m := m.(type) {
	case *protocol.Key:
		return e, n.aggregatorKey(e, m)
	case *protocol.Open:
		return e, n.opened(e, m)
	case *protocol.Round:
		return e, n.openRound(m, data)
	case *protocol.Contribution:
		if n.group != nil {
			return e, fmt.Errorf("%w: a contribution, which is for a worker", protocol.ErrUnknown)
		}
		return e, n.contribution(e.From, m, data)
	case *protocol.Hold:
		return e, n.peerHold(e.From, m, data)
	case *protocol.Agree:
		return e, n.peerAgree(e.From, m, data)
	case *protocol.Partial:
		return e, n.ownPartial(e.From, m, data)
	case *protocol.Result:
		return e, n.hearResult(m, data)
	case *protocol.Confirm:
		return e, n.ownConfirm(e.From, m, data)
	case *protocol.Abort:
		n.end(m.Cause())
	}
	return e, nil
}

func (n *Node) chunk(data []byte) error {
	c, err := protocol.ViewChunk(data)
	if err != nil {
		return err
	}
	if n.group != nil {
		return fmt.Errorf("%w: a chunk, which is for a worker", protocol.ErrUnknown)
	}
	return n.acceptChunk(c, data)
}

// check ends the node on a failure of this process, which is never a peer's fault.
func (n *Node) check(err error) {
	if err != nil && !n.ended {
		n.finish(fmt.Errorf("compute node: round %d: %w", n.round, err))
	}
}

// finish stops this process; a restarted one continues.
func (n *Node) finish(err error) {
	n.ended = true
	n.eff.Finish(err)
}

// leaveIfExpired ends the node when the plan has expired and the aggregator is silent.
func (n *Node) leaveIfExpired() {
	if n.now >= n.s.Plan.Leaves(n.seen) {
		n.finish(protocol.Fail(protocol.ClassIntegrity, "%w: round %d attempt %d", protocol.ErrExpired, n.round,
			n.attempt))
	}
}

// end stops the machine because the session is over, and deletes its keys.
func (n *Node) end(err error) {
	n.finish(err)
	n.endWorkers()
	n.eff.Put("done", protocol.MarshalEnd(err))
	n.eff.Replace("plan-key", nil)
	n.eff.Delete("key")
	n.eff.Delete("aggregator")
	n.forgetChannels()
}
