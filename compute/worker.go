package compute

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// WorkerConfig is what a worker of a compute node starts from. A worker knows neither the
// node's identity nor its plan key.
type WorkerConfig struct {
	Session  protocol.BoundPlan
	Node     uint32        // member index of the compute node
	Worker   int           // 0 <= Worker < Group.Workers
	Group    Group         // with this worker's own key: see Group.Worker
	Rand     io.Reader     // salts of what it seals
	View     protocol.View // what was persisted before a restart, by this worker
	ResendMS int64         // retransmit interval of its hello
	// Initiate and Accept set up the links with the node; channel.Initiate and Accept when nil.
	Initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
	Accept   func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// validate returns an error for a field that is missing or out of range.
func (c WorkerConfig) validate() error {
	switch {
	case !c.Session.Plan.Is(c.Node, protocol.RoleCompute):
		return protocol.Fail(protocol.ClassInput, "worker: member %d is not a compute node", c.Node)
	case c.Group.Workers < 1 || c.Worker < 0 || c.Worker >= c.Group.Workers:
		return protocol.Fail(protocol.ClassInput, "worker: %d is not in 0..%d", c.Worker, c.Group.Workers-1)
	}
	if err := c.Group.Validate(); err != nil {
		return protocol.Fail(protocol.ClassInput, "worker: %w", err)
	}
	return nil
}

// Worker is one process of a compute node: it opens, verifies, expands and adds the
// contributions of its parties. It reports those that are complete to the node, and the
// sum of those that the node asks for. It decides nothing, reveals nothing and signs nothing.
//
// It is a pure state machine like Node. Its durable state has the same keys as Node's for
// contributions (channel/, round, share/, commit/ and done) and
//
//	worker             number of the worker that the store belongs to, and of how many
//	early/<party>/<i>  a message that arrived before its channel or its round
type Worker struct {
	intake
	cfg     WorkerConfig
	path    protocol.WorkerPath
	seen    int64 // start of the retransmit interval
	backoff protocol.Backoff
	ended   bool

	early    early
	held     []uint32            // parties whose contributions are to be reported to the node
	asked    *protocol.WorkerAsk // what the node asks for
	answered *protocol.WorkerSum // the answer, without its chunks; nil before
	fromNode receiver            // for the channels; its key is drawn at the start
	toNode   sender              // for the sum
}

// NewWorker builds the machine from its view.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.ResendMS <= 0 {
		cfg.ResendMS = 15_000
	}
	if cfg.Initiate == nil {
		cfg.Initiate = channel.Initiate
	}
	if cfg.Accept == nil {
		cfg.Accept = channel.Accept
	}
	w := &Worker{
		intake:  newIntake(cfg.Session, cfg.Node, cfg.View),
		cfg:     cfg,
		path:    protocol.WorkerPath{Node: cfg.Node, Worker: uint32(cfg.Worker), Of: uint32(cfg.Group.Workers)},
		backoff: protocol.Backoff{Base: cfg.ResendMS},
	}
	w.complete = func(party uint32, _ bool) { w.held = append(w.held, party) }
	return w, w.restore()
}

func (w *Worker) restore() error {
	if w.ended = w.view.Get("done") != nil; w.ended {
		return nil
	}
	for _, step := range []func() error{w.checkPin, w.restoreChannels, w.restoreAttempt, w.restoreEarly} {
		if err := step(); err != nil {
			return fmt.Errorf("compute worker: stored state: %w", err)
		}
	}
	return nil
}

func (w *Worker) restoreAttempt() error {
	if _, err := w.restoreRound(); err != nil || w.keys.Round() > w.round {
		return err // the secrets of a round that is over are gone
	}
	return w.restoreContributions()
}

const pinKey = "worker"

func (w *Worker) pin() string { return fmt.Sprintf("%d of %d", w.path.Worker, w.path.Of) }

// checkPin refuses the store of another worker.
func (w *Worker) checkPin() error {
	if have := w.view.Get(pinKey); have != nil && string(have) != w.pin() {
		return protocol.Fail(protocol.ClassInput, "it is that of worker %s, not of %s", have, w.pin())
	}
	return nil
}

// Step handles one event. See protocol.Machine.
func (w *Worker) Step(now int64, ev protocol.Event) protocol.Effects {
	var eff protocol.Effects
	w.eff = &eff
	w.now = now
	switch e := ev.(type) {
	case protocol.Start:
		w.start()
	case protocol.Delivery:
		w.deliver(e.Data)
	case protocol.Tick:
		if now >= w.s.Plan.Leaves(w.seen) && !w.ended {
			w.finish(protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired))
		}
		if now >= w.backoff.Due(w.seen) && !w.ended {
			w.backoff.Retransmitted(now)
			w.check(w.hello()) // a link may have been lost
		}
	}
	d, ok := ev.(protocol.Delivery)
	if (!ok || !d.More) && !w.ended {
		w.check(w.sendHeld())
	}
	if !w.ended {
		w.check(w.answer())
		eff.Wake = max(min(w.backoff.Due(w.seen), w.s.Plan.Leaves(w.seen)), now+1)
	}
	if !ok || !d.More || w.ended {
		w.keys.Store(w.eff)
	}
	w.eff = nil
	return eff
}

func (w *Worker) start() {
	w.seen = w.now
	switch {
	case w.ended:
		w.eff.Finish(protocol.UnmarshalEnd(w.view.Get("done")))
		return
	case w.s.Plan.Expired(w.now):
		w.finish(protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired))
		return
	case w.view.Get(pinKey) == nil:
		w.eff.Put(pinKey, []byte(w.pin()))
	}
	key, err := channel.GenerateKey(w.s.Plan.Suite, w.cfg.Rand)
	if err != nil {
		w.check(fmt.Errorf("key: %w", err))
		return
	}
	w.fromNode = receiver{key: key}
	w.check(w.hello())
	w.holdAll() // parties that have a receipt do not retransmit
}

func (w *Worker) hello() error {
	return w.send(&protocol.WorkerHello{Public: w.fromNode.key.Public()}, nil)
}

func (w *Worker) linkSetup() linkSetup { return linkSetup{w.s, w.cfg.Initiate, w.cfg.Accept} }

// send seals a message for the node and emits it.
func (w *Worker) send(m protocol.WorkerMessage, link *protocol.WorkerLink) error {
	b, err := w.s.SealWorker(w.cfg.Group.Secret, w.path, m, link, w.cfg.Rand)
	if err == nil {
		w.eff.Emit(w.s.SubjectWorker(w.path), b)
	}
	return err
}

// check ends the worker on a failure of this process.
func (w *Worker) check(err error) {
	if err != nil && !w.ended {
		w.finish(fmt.Errorf("compute worker: round %d: %w", w.round, err))
	}
}

// finish stops this process; a restarted one continues.
func (w *Worker) finish(err error) {
	w.ended = true
	w.eff.Finish(err)
}

// holdAll queues the report of all complete contributions.
func (w *Worker) holdAll() {
	w.held = w.held[:0]
	for i := range w.contributions {
		if w.contributions[i].whole {
			w.held = append(w.held, uint32(i))
		}
	}
}

// sendHeld reports the queued contributions to the node. With this step they are durable.
func (w *Worker) sendHeld() error {
	for some := range slices.Chunk(w.held, heldPerMessage) {
		m := &protocol.WorkerHeld{}
		for _, party := range some {
			m.Contributions = append(m.Contributions, w.get(w.commitKey(party)))
		}
		if err := w.send(m, nil); err != nil {
			return err
		}
	}
	w.held = w.held[:0]
	return nil
}

func (w *Worker) deliver(data []byte) {
	from, e, err := w.message(data)
	if errors.Is(err, protocol.ErrEarly) {
		w.buffer(from, data)
		return
	}
	w.s.Refuse(w.eff, e, err)
}

// message handles a message. from is the party that an early one belongs to.
func (w *Worker) message(data []byte) (from uint32, e *protocol.Envelope, err error) {
	switch {
	case w.ended:
		return 0, nil, protocol.ErrDuplicate
	case protocol.IsWorker(data):
		return 0, nil, w.nodeMessage(data)
	case protocol.IsChunk(data):
		from, err = w.chunk(data)
		return from, nil, err
	}
	e, m, err := w.s.Receive(data)
	if err != nil {
		return 0, e, err
	}
	switch m := m.(type) {
	case *protocol.Round:
		err = w.openRound(m, data)
	case *protocol.Contribution:
		if err = w.checkParty(e.From); err == nil {
			err = w.contribution(e.From, m, data)
		}
	case *protocol.Abort:
		w.end(m.Cause())
	}
	return e.From, e, err
}

// checkParty refuses a member that is not a party of this worker.
func (w *Worker) checkParty(party uint32) error {
	if !w.s.Plan.Is(party, protocol.RoleParty) || protocol.WorkerOf(party, w.path.Of) != w.path.Worker {
		return fmt.Errorf("%w: %s is not of worker %s", protocol.ErrUnknown, w.s.Name(party), w.pin())
	}
	return nil
}

func (w *Worker) chunk(data []byte) (from uint32, err error) {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil {
		return 0, err
	}
	if err := w.checkParty(c.From); err != nil {
		return 0, err
	}
	return c.From, w.acceptChunk(c, data)
}

// openRound moves the worker to an attempt that the aggregator opened. Whether the node may
// still reveal in the round is the node's to decide.
func (w *Worker) openRound(m *protocol.Round, data []byte) error {
	if err := w.checkNew(m); err != nil {
		return err
	}
	w.forget()
	w.begin(m)
	w.persistRound(data)
	w.seen = w.now
	w.asked = nil
	w.answered = nil
	w.held = nil
	for party := range uint32(w.parties) { // in order: a step is a function of its event
		w.deliverEarly(party)
	}
	return nil
}

// nodeMessage handles a message of the node.
func (w *Worker) nodeMessage(data []byte) error {
	want := w.path
	want.Down = true
	accept := func(p protocol.WorkerPath, enc []byte) (*channel.Secret, error) {
		if p != want {
			return nil, protocol.ErrDuplicate
		}
		return w.linkSetup().from(&w.fromNode, p, enc)
	}
	p, m, err := w.s.OpenWorker(w.cfg.Group.Secret, data, accept)
	if errors.Is(err, protocol.ErrStale) {
		return protocol.ErrDuplicate
	}
	if err != nil {
		return err
	}
	if p != want {
		return fmt.Errorf("%w: a message for worker %d of %d of member %d",
			protocol.ErrUnknown, p.Worker, p.Of, p.Node)
	}
	switch m := m.(type) {
	case *protocol.WorkerLinks:
		return w.links(m)
	case *protocol.WorkerAsk:
		return w.ask(m)
	case *protocol.WorkerEnd:
		w.end(nil)
		return nil
	}
	return fmt.Errorf("%w: %T is not for a worker", protocol.ErrUnknown, m)
}

// links accepts channels. The first secret of a party counts, as at the node. Secrets of a later round
// than the worker's show that the node has settled that: nothing of it is needed any more.
func (w *Worker) links(m *protocol.WorkerLinks) error {
	// After its last round a node has the secrets of the next. Each further one would be a hash a secret.
	if last := w.s.Plan.Rounds + 1; m.Round > last {
		return fmt.Errorf("%w: channels of round %d, the plan's last are of round %d", protocol.ErrMismatch,
			m.Round, last)
	}
	if m.Round > max(w.round, 1) {
		w.open = false
	}
	w.keys.Advance(m.Round)
	w.again = w.again || m.Again
	for i, party := range m.Parties {
		if err := w.checkParty(party); err != nil {
			return err
		}
		if w.keys.Has(party) {
			continue
		}
		w.keepChannel(party, m.Round, m.Secrets[i])
		w.deliverEarly(party)
	}
	return nil
}

// ask accepts the node's request for a sum: one set an attempt.
func (w *Worker) ask(m *protocol.WorkerAsk) error {
	if err := w.checkGroupAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	for _, e := range m.Set {
		if err := w.checkParty(e.Party); err != nil {
			return err
		}
	}
	digest := protocol.SetDigest(w.s, m.Round, m.Attempt, m.Set)
	switch {
	case w.answered != nil && w.answered.Set != digest:
		return fmt.Errorf("%w: asked for the sums of two sets in round %d attempt %d",
			protocol.ErrEquivocate, m.Round, m.Attempt)
	case !bytes.Equal(w.toNode.public, m.Public): // the node has drawn another since it was started again
		e := sender{public: bytes.Clone(m.Public)}
		if _, err := w.linkSetup().to(&e, w.path); err != nil {
			return err
		}
		w.toNode = e
	}
	w.asked = m
	if w.answered != nil {
		return w.sendSum()
	}
	return nil
}

// answer sends the sum that the node asks for, once all its contributions are complete: a
// worker that lost its store reads them from the bus again.
func (w *Worker) answer() error {
	m := w.asked
	if m == nil || w.answered != nil || w.keys.Round() > w.round || w.reach(m.Set) < len(m.Set) {
		return nil
	}
	w.open = false
	if err := w.restrict(m.Set); err != nil {
		return err
	}
	w.answered = &protocol.WorkerSum{
		Round:    m.Round,
		Attempt:  m.Attempt,
		Set:      protocol.SetDigest(w.s, m.Round, m.Attempt, m.Set),
		Blinding: w.blindings(m.Set),
	}
	return w.sendSum()
}

func (w *Worker) sendSum() error {
	m := *w.answered
	link, err := w.linkSetup().to(&w.toNode, w.path)
	if err != nil {
		return err
	}
	for i := range w.s.Chunks() {
		m.Index = uint32(i)
		m.Elements = field.AppendVector(nil, xof.Chunk(w.sum, uint64(i)))
		if err := w.send(&m, link); err != nil {
			return err
		}
	}
	return nil
}

// end stops the worker because the session is over, and deletes its channels.
func (w *Worker) end(err error) {
	w.finish(err)
	w.eff.Put("done", protocol.MarshalEnd(err))
	w.keys.Erase(w.eff)
	w.forget()
}

var (
	_ protocol.Machine = (*Node)(nil)
	_ protocol.Machine = (*Worker)(nil)
)
