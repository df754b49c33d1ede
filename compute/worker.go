package compute

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// WorkerConfig is what a worker of a compute node starts from. It knows neither
// the node's identity nor its plan key.
type WorkerConfig struct {
	Session  protocol.BoundPlan
	Node     uint32 // member index of the compute node
	Worker   int    // 0 <= Worker < Group.Workers
	Group    Group
	Rand     io.Reader     // salts of what it seals
	View     protocol.View // what an earlier life persisted; its own, not the node's
	ResendMS int64         // how long to wait before it says hello again
}

// Validate names what is missing or out of range.
func (c WorkerConfig) Validate() error {
	switch {
	case !c.Session.Plan.Is(c.Node, protocol.RoleCompute):
		return protocol.Fail(protocol.ClassInput, "worker: member %d isn't a compute node", c.Node)
	case c.Group.Workers < 1 || c.Worker < 0 || c.Worker >= c.Group.Workers:
		return protocol.Fail(protocol.ClassInput, "worker: %d isn't in 0..%d", c.Worker, c.Group.Workers-1)
	}
	if err := c.Group.Validate(); err != nil {
		return protocol.Fail(protocol.ClassInput, "worker: %w", err)
	}
	return nil
}

// Worker is one process of a compute node: it opens, verifies, expands and adds the
// contributions of its own parties, and tells the node which it holds and what
// the ones that the node asks for add up to. It decides nothing: without the node
// it reveals nothing and signs nothing.
//
// It is a pure state machine like Node, and keeps in its own view what Node keeps
// there about contributions, under the same keys: channel/, round, share/,
// commit/ and done; beside them
//
//	worker             which worker of how many the store belongs to
//	early/<party>/<i>  what came before the channel or round that it belongs to
type Worker struct {
	cfg   WorkerConfig
	path  protocol.WorkerPath
	node  *Node // the intake, with this worker's parties only
	early early
	holds []uint32 // parties whose contributions the node is to be told of
	asked *protocol.WorkerAsk
	sum   *protocol.WorkerSum // what every chunk of the answer says; nil before
	quiet bool                // while it restores: what it holds it says at its start
}

// NewWorker builds the machine from its view.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.ResendMS <= 0 {
		cfg.ResendMS = 15_000
	}
	p := cfg.Session.Plan
	w := &Worker{cfg: cfg, path: protocol.WorkerPath{Node: cfg.Node, Worker: uint32(cfg.Worker), Of: uint32(cfg.Group.Workers)}}
	w.node = &Node{s: cfg.Session, self: cfg.Node, k: int(cfg.Node) - p.Parties(), n: p.Parties(), m: p.Computes(),
		view: cfg.View, channels: make([]*channel.Secret, p.Parties()), worker: w, pause: protocol.Backoff{Base: cfg.ResendMS}}
	n := w.node
	if n.ended = n.view.Get("done") != nil; n.ended {
		return w, nil
	}
	w.quiet = true
	defer func() { w.quiet = false }()
	for _, step := range []func() error{w.checkPin, n.restoreKeys, n.restoreRound, n.restoreShares, w.restoreEarly} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("compute worker: stored state: %w", err)
		}
	}
	return w, nil
}

const pinKey = "worker"

func (w *Worker) pin() string { return fmt.Sprintf("%d of %d", w.path.Worker, w.path.Of) }

// checkPin refuses a store that another worker has begun.
func (w *Worker) checkPin() error {
	if have := w.node.view.Get(pinKey); have != nil && string(have) != w.pin() {
		return protocol.Fail(protocol.ClassInput, "it is that of worker %s, not of %s", have, w.pin())
	}
	return nil
}

// Step takes one event. See protocol.Machine.
func (w *Worker) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	n := w.node
	n.eff, n.now = &eff, now
	switch e := ev.(type) {
	case protocol.Start:
		w.start()
	case protocol.Delivery:
		w.deliver(e.Data)
	case protocol.Tick:
		if now >= n.pause.Due(n.seen) && !n.ended {
			n.pause.Retransmitted(now)
			w.must(w.say(&protocol.WorkerHello{})) // it may have missed a link
		}
	}
	if d, ok := ev.(protocol.Delivery); (!ok || !d.More) && !n.ended {
		w.must(w.tellHeld())
	}
	if !n.ended {
		w.must(w.answer())
		eff.Wake = max(n.pause.Due(n.seen), now+1)
	}
	n.eff = nil
	return eff
}

func (w *Worker) start() {
	n := w.node
	n.seen = n.now
	switch {
	case n.ended:
		n.eff.Finish(protocol.UnmarshalEnd(n.view.Get("done")))
		return
	case n.now/1000 > n.s.Plan.NotAfter:
		n.finish(protocol.Fail(protocol.ClassIntegrity, "plan: %w", protocol.ErrExpired))
		return
	case n.view.Get(pinKey) == nil:
		n.eff.Put(pinKey, []byte(w.pin()))
	}
	w.must(w.say(&protocol.WorkerHello{}))
	w.allHeld() // a party that knows its contribution to be here doesn't send it again
}

// say seals a message for the node.
func (w *Worker) say(m protocol.WorkerMessage) error {
	n := w.node
	b, err := n.s.SealWorker(w.cfg.Group.Secret, w.path, m, w.cfg.Rand)
	if err == nil {
		n.eff.Emit(n.s.SubjectWorker(w.path), b)
	}
	return err
}

func (w *Worker) must(err error) {
	if err != nil && !w.node.ended {
		w.node.finish(fmt.Errorf("compute worker: round %d: %w", w.node.at.round, err))
	}
}

// held notes that the node is to be told of a contribution that is whole and, with
// this step, durable.
func (w *Worker) held(from uint32) {
	if !w.quiet {
		w.holds = append(w.holds, from)
	}
}

// allHeld notes all of them.
func (w *Worker) allHeld() {
	w.holds = w.holds[:0]
	for i := range w.node.at.parties {
		if w.node.at.parties[i].whole {
			w.holds = append(w.holds, uint32(i))
		}
	}
}

// tellHeld tells the node of everything that was noted.
func (w *Worker) tellHeld() error {
	for some := range slices.Chunk(w.holds, heldPerMessage) {
		m := &protocol.WorkerHeld{}
		for _, party := range some {
			m.Contributions = append(m.Contributions, w.node.get(w.node.commitKey(party)))
		}
		if err := w.say(m); err != nil {
			return err
		}
	}
	w.holds = w.holds[:0]
	return nil
}

func (w *Worker) deliver(data []byte) {
	from, e, err := w.take(data)
	if errors.Is(err, protocol.ErrEarly) {
		w.keepEarly(from, data)
		return
	}
	if err != nil && !errors.Is(err, errDuplicate) {
		w.node.eff.Note(w.node.s.Refused(e, err))
	}
}

// take takes in a message. from is the party that an early one belongs to.
func (w *Worker) take(data []byte) (from uint32, e *protocol.Envelope, err error) {
	n := w.node
	switch {
	case n.ended:
		return 0, nil, errDuplicate
	case protocol.IsWorker(data):
		return 0, nil, w.word(data)
	case protocol.IsChunk(data):
		from, err = w.chunk(data)
		return from, nil, err
	}
	e, m, err := n.s.Receive(data)
	if err != nil {
		return 0, e, err
	}
	switch m := m.(type) {
	case *protocol.Round:
		err = w.opens(m, data)
	case *protocol.Contribution:
		if err = w.own(e.From); err == nil {
			err = n.contribution(e.From, m, data)
		}
	case *protocol.Abort:
		w.end(m.Cause())
	}
	return e.From, e, err
}

// own refuses a member that isn't a party of this worker.
func (w *Worker) own(party uint32) error {
	if !w.node.s.Plan.Is(party, protocol.RoleParty) || protocol.WorkerOf(party, w.path.Of) != w.path.Worker {
		return fmt.Errorf("%w: %s isn't of worker %s", protocol.ErrUnknown, w.node.s.Name(party), w.pin())
	}
	return nil
}

func (w *Worker) chunk(data []byte) (from uint32, err error) {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil {
		return 0, err
	}
	if err := w.own(c.From); err != nil {
		return 0, err
	}
	return c.From, w.node.sealed(c, data)
}

// opens follows the aggregator into an attempt. Whether this node may still reveal
// in the round is for the node to know: the worker adds for nobody else.
func (w *Worker) opens(m *protocol.Round, data []byte) error {
	if err := w.node.opens(m, data); err != nil {
		return err
	}
	w.asked, w.sum, w.holds = nil, nil, nil
	for party := range uint32(w.node.n) { // in order: a step is a function of its event
		w.retry(party)
	}
	return nil
}

// word takes in what the node says.
func (w *Worker) word(data []byte) error {
	n := w.node
	p, m, err := n.s.OpenWorker(w.cfg.Group.Secret, data)
	if err != nil {
		return err
	}
	want := w.path
	if want.Down = true; p != want {
		return fmt.Errorf("%w: a message for worker %d of %d of member %d", protocol.ErrUnknown, p.Worker, p.Of, p.Node)
	}
	switch m := m.(type) {
	case *protocol.WorkerLinks:
		return w.links(m)
	case *protocol.WorkerAsk:
		return w.askedFor(m)
	case *protocol.WorkerEnd:
		w.end(nil)
		return nil
	}
	return fmt.Errorf("%w: %T isn't for a worker", protocol.ErrUnknown, m)
}

// links takes in channels. The first secret of a party counts, as at the node.
func (w *Worker) links(m *protocol.WorkerLinks) error {
	n := w.node
	for i, party := range m.Parties {
		if err := w.own(party); err != nil {
			return err
		}
		if n.channels[party] != nil {
			continue
		}
		n.keepChannel(party, m.Secrets[i])
		n.eff.Put(protocol.RecordKey("channel", party), protocol.MarshalLink(&protocol.Link{Secret: m.Secrets[i]}))
		w.retry(party)
	}
	return nil
}

// askedFor notes which sum the node wants. It wants one an attempt.
func (w *Worker) askedFor(m *protocol.WorkerAsk) error {
	n := w.node
	if err := n.whenTold(m.Round, m.Attempt); err != nil {
		return err
	}
	for _, e := range m.Set {
		if err := w.own(e.Party); err != nil {
			return err
		}
	}
	digest := protocol.SetDigest(n.s, m.Round, m.Attempt, m.Set)
	switch {
	case w.sum != nil && w.sum.Set != digest:
		return fmt.Errorf("%w: asked for the sums of two sets in round %d attempt %d", protocol.ErrEquivocate, m.Round, m.Attempt)
	case w.sum != nil:
		return w.saySum()
	}
	w.asked = m
	return nil
}

// answer adds what the node asked for, as soon as all of it is here: a worker that
// lost its store reads its parties again from the bus.
func (w *Worker) answer() error {
	n, m := w.node, w.asked
	if m == nil || w.sum != nil || !n.covers(m.Set) {
		return nil
	}
	if err := n.enter(held); err != nil {
		return err
	}
	n.at.set = m.Set
	if err := n.keepSet(); err != nil {
		return err
	}
	w.sum = &protocol.WorkerSum{Round: m.Round, Attempt: m.Attempt, Set: protocol.SetDigest(n.s, m.Round, m.Attempt, m.Set), Blinding: n.blindingSum()}
	return w.saySum()
}

func (w *Worker) saySum() error {
	n, sum := w.node, *w.sum
	for i := range n.s.Chunks() {
		lo := i * xof.ChunkElements
		sum.Index, sum.Elements = uint32(i), field.AppendVector(nil, n.at.acc[lo:lo+n.s.ChunkLen(i)])
		if err := w.say(&sum); err != nil {
			return err
		}
	}
	return nil
}

// end stops the worker because the session is over, and forgets its channels.
func (w *Worker) end(err error) {
	n := w.node
	n.finish(err)
	n.eff.Put("done", protocol.MarshalEnd(err))
	n.forgetChannels()
	n.forget()
}

var _ protocol.Machine = (*Worker)(nil)
