package compute

import (
	"bytes"
	"errors"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/identity"
	"choir/crypto/xof"
	"choir/protocol"
)

// Group shares a node's work among workers (see Worker): each receives and adds the
// contributions of a part of the parties. The node alone knows the plan key, signs, agrees, and
// reveals the sum of their sums. The zero value is a node without workers.
type Group struct {
	Workers int // 1 to protocol.Slots; 0: none
	// Secret is the node's, from which the keys that it shares with its workers follow. A worker's
	// Group has its own key in its place (see Worker) and opens no other worker's messages.
	Secret *channel.Secret
}

// Worker returns the Group of one of a node's workers, from 0.
func (g Group) Worker(i int) Group {
	return Group{g.Workers, protocol.WorkerSecret(g.Secret, uint32(i))}
}

// Validate returns an error for a number of workers out of range and for a missing secret.
func (g Group) Validate() error {
	switch {
	case g.Workers < 0 || g.Workers > protocol.Slots:
		return fmt.Errorf("group: %d workers, at most %d", g.Workers, protocol.Slots)
	case g.Workers > 0 && g.Secret == nil:
		return errors.New("group: workers need a secret")
	}
	return nil
}

// group is the state of the workers' sums. None of it is durable: workers send it again on
// request. Contributions are in the node's own records.
type group struct {
	trusted protocol.BoundPlan // accepts the signatures that a worker has verified
	asks    []protocol.Outgoing
	parts   [][]protocol.Entry  // by worker: its part of the agreed set
	sums    []workerSum         // by worker
	key     *channel.PrivateKey // for the sums; nil before they are asked for
}

type workerSum struct {
	set   protocol.Digest
	have  map[uint32]bool // chunks that are in the node's sum
	blind [32]byte
	link  receiver
}

// acceptAll is a Verifier for messages that a worker has verified and sealed.
type acceptAll struct{}

func (acceptAll) Verify(identity.PublicKey, []byte, identity.Signature) bool { return true }

func newGroup(s protocol.BoundPlan) *group {
	s.Verifier = acceptAll{}
	return &group{trusted: s}
}

// linksPerMessage and heldPerMessage bound the number of parties in a message.
const (
	linksPerMessage = 1 << 14
	heldPerMessage  = 256
)

// workers is how many workers the node has.
func (n *Node) workers() uint32 { return uint32(n.cfg.Group.Workers) }

func (n *Node) path(worker uint32) protocol.WorkerPath {
	return protocol.WorkerPath{Node: n.self, Worker: worker, Of: n.workers(), Down: true}
}

// workerSecret is the key of a worker.
func (n *Node) workerSecret(worker uint32) *channel.Secret {
	if n.workerKeys[worker] == nil {
		n.workerKeys[worker] = n.cfg.Group.Worker(int(worker)).Secret
	}
	return n.workerKeys[worker]
}

func (n *Node) sendWorker(worker uint32, m protocol.WorkerMessage, link *protocol.WorkerLink) error {
	p := n.path(worker)
	b, err := n.s.SealWorker(n.workerSecret(worker), p, m, link, n.cfg.Rand)
	if err == nil {
		n.eff.Emit(n.s.SubjectWorker(p), b)
	}
	return err
}

// pinWorkers keeps a plan from being resumed with another number of workers: parties would
// move between them, and be counted by none or by two.
func (n *Node) pinWorkers() error {
	have, want := n.view.Get("workers"), fmt.Sprint(n.cfg.Group.Workers)
	switch {
	case have == nil && n.cfg.Group.Workers == 0:
		return nil
	case have == nil && n.round == 0:
		n.eff.Put("workers", []byte(want))
		return nil
	case string(have) != want:
		return protocol.Fail(protocol.ClassInput,
			"workers: the plan was begun with %q of them, now there are %s", have, want)
	}
	return nil
}

// sendLink forwards a party's channel to the party's worker. One that has not announced itself gets it then.
func (n *Node) sendLink(party uint32) error {
	worker := protocol.WorkerOf(party, n.workers())
	return n.sendChannels(worker, &protocol.WorkerLinks{
		Round:   n.keys.Round(),
		Again:   n.again,
		Parties: []uint32{party},
		Secrets: []*channel.Secret{n.keys.Secret(party, n.keys.Round())},
	})
}

// sendChannels sends channels to a worker that has announced itself.
func (n *Node) sendChannels(worker uint32, m *protocol.WorkerLinks) error {
	e := n.toWorkers[worker]
	if e == nil {
		public := n.get(workerPublicKey(worker))
		if public == nil {
			return nil
		}
		e = &sender{public: public}
		n.toWorkers[worker] = e
	}
	link, err := n.linkSetup().to(e, n.path(worker))
	if err != nil {
		return err
	}
	return n.sendWorker(worker, m, link)
}

// workerPublicKey is the record of the key in a worker's last hello.
func workerPublicKey(worker uint32) string { return protocol.RecordKey("worker-public", worker) }

func (n *Node) linkSetup() linkSetup { return linkSetup{n.s, n.cfg.Initiate, n.cfg.Accept} }

// workerMessage handles a message of a worker.
func (n *Node) workerMessage(data []byte) error {
	if n.group == nil {
		return fmt.Errorf("%w: a worker message, and this node has no workers", protocol.ErrUnknown)
	}
	if n.ended {
		return protocol.ErrDuplicate
	}
	worker, err := protocol.WorkerOfMessage(data)
	if err != nil {
		return err
	}
	if worker >= n.workers() {
		return fmt.Errorf("%w: worker %d of %d", protocol.ErrUnknown, worker, n.workers())
	}
	p, m, err := n.s.OpenWorker(n.workerSecret(worker), data, n.sumSecret)
	if errors.Is(err, protocol.ErrStale) {
		return protocol.ErrDuplicate
	}
	if err != nil {
		return err
	}
	want := n.path(p.Worker)
	want.Down = false
	if p != want {
		return fmt.Errorf("%w: worker %d of %d of member %d", protocol.ErrUnknown, p.Worker, p.Of, p.Node)
	}
	switch m := m.(type) {
	case *protocol.WorkerHello:
		return n.hello(p.Worker, m)
	case *protocol.WorkerHeld:
		return n.workerHeld(p.Worker, m)
	case *protocol.WorkerSum:
		return n.workerSum(p.Worker, m)
	}
	return fmt.Errorf("%w: %T is not for a node", protocol.ErrUnknown, m)
}

// sumSecret returns the secret of an encapsulation to the key for the sums.
func (n *Node) sumSecret(p protocol.WorkerPath, enc []byte) (*channel.Secret, error) {
	if p.Down || p.Worker >= uint32(len(n.group.sums)) {
		return nil, protocol.ErrDuplicate
	}
	e := &n.group.sums[p.Worker].link
	e.key = n.group.key
	return n.linkSetup().from(e, p, enc)
}

// hello answers a worker that has started. A key that its process has drawn replaces the one before.
func (n *Node) hello(worker uint32, m *protocol.WorkerHello) error {
	if !bytes.Equal(n.get(workerPublicKey(worker)), m.Public) {
		e := &sender{public: bytes.Clone(m.Public)}
		if _, err := n.linkSetup().to(e, n.path(worker)); err != nil {
			return err
		}
		n.toWorkers[worker] = e
		n.eff.Put(workerPublicKey(worker), e.public)
	}
	return n.sendLinks(worker)
}

// sendLinks sends a worker that has started the channels of its parties, and the node's
// request for a sum if there is one.
func (n *Node) sendLinks(worker uint32) error {
	all := protocol.WorkerLinks{Round: n.keys.Round(), Again: n.again}
	for i := range uint32(n.parties) {
		secret := n.keys.Secret(i, n.keys.Round())
		if secret == nil || protocol.WorkerOf(i, n.workers()) != worker {
			continue
		}
		all.Parties = append(all.Parties, i)
		all.Secrets = append(all.Secrets, secret)
	}
	for lo := 0; lo < len(all.Parties); lo += linksPerMessage {
		hi := min(lo+linksPerMessage, len(all.Parties))
		some := &protocol.WorkerLinks{
			Round: all.Round, Again: all.Again, Parties: all.Parties[lo:hi], Secrets: all.Secrets[lo:hi],
		}
		if err := n.sendChannels(worker, some); err != nil {
			return err
		}
	}
	if (n.at.phase == held || n.at.phase == agreed) && len(n.group.asks) > 0 {
		n.eff.Send = append(n.eff.Send, n.group.asks[worker])
	}
	return nil
}

// workerHeld accepts contributions that a worker has opened, verified and made durable. An
// error in one of them does not affect the others.
func (n *Node) workerHeld(worker uint32, m *protocol.WorkerHeld) error {
	var first error
	for _, data := range m.Contributions {
		if err := n.acceptHeld(worker, data); err != nil && !errors.Is(err, protocol.ErrDuplicate) && first == nil {
			first = err
		}
	}
	return first
}

func (n *Node) acceptHeld(worker uint32, data []byte) error {
	e, body, err := n.group.trusted.Receive(data)
	if err != nil {
		return err
	}
	m, ok := body.(*protocol.Contribution)
	if !ok || protocol.WorkerOf(e.From, n.workers()) != worker {
		return fmt.Errorf("%w: worker %d holds a %s of %s", protocol.ErrUnknown, worker, e.Kind, n.s.Name(e.From))
	}
	if err := n.checkGroupAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	bundle, err := m.BundleDigest(n.s, e.From)
	if err != nil {
		return err
	}
	if p := n.have(e.From); p.whole {
		return n.checkRepeat(e.From, p, bundle)
	}
	switch {
	case !n.open:
		return protocol.ErrDuplicate
	case m.Last != n.lastResult:
		return fmt.Errorf("%w: %s contributed after another result", protocol.ErrMismatch, n.s.Name(e.From))
	case m.Model != n.model:
		return fmt.Errorf("%w: %s contributed to another model", protocol.ErrMismatch, n.s.Name(e.From))
	}
	n.eff.Put(n.commitKey(e.From), data)
	return n.countHeld(e.From, bundle)
}

// checkGroupAttempt is checkAttempt for messages from within the group: a late one is
// not an error of any member and is not reported.
func (in *intake) checkGroupAttempt(round, attempt uint32) error {
	if err := in.checkAttempt(round, attempt); !errors.Is(err, protocol.ErrStale) {
		return err
	}
	return protocol.ErrDuplicate
}

// countHeld counts a contribution that a worker holds.
func (n *Node) countHeld(from uint32, bundle protocol.Digest) error {
	p, _, err := n.party(from)
	if err != nil {
		return err
	}
	p.bundle = bundle
	n.setComplete(from, p)
	return nil
}

// restoreHeld counts the stored contributions after a restart. It discards the effects.
func (n *Node) restoreHeld() error {
	n.eff = &protocol.Effects{}
	defer func() { n.eff = nil }()
	return n.storedHeads(func(from uint32, m *protocol.Contribution, _ []byte) error {
		bundle, err := m.BundleDigest(n.s, from)
		if err != nil {
			return err
		}
		return n.countHeld(from, bundle)
	})
}

// ask asks each worker, once, for the sum over its part of the agreed set.
func (n *Node) ask() error {
	g := n.group
	if len(g.asks) > 0 {
		return nil
	}
	g.parts = make([][]protocol.Entry, n.workers())
	g.sums = make([]workerSum, n.workers())
	for _, e := range n.at.set {
		w := protocol.WorkerOf(e.Party, n.workers())
		g.parts[w] = append(g.parts[w], e)
	}
	key, err := channel.GenerateKey(n.s.Plan.Suite, n.cfg.Rand)
	if err != nil {
		return fmt.Errorf("key for the workers' sums: %w", err)
	}
	g.key = key
	clear(n.sum)
	from := len(n.eff.Send)
	for w := range n.workers() {
		g.sums[w] = workerSum{
			set:  protocol.SetDigest(n.s, n.round, n.attempt, g.parts[w]),
			have: map[uint32]bool{},
		}
		ask := &protocol.WorkerAsk{Round: n.round, Attempt: n.attempt, Set: g.parts[w], Public: key.Public()}
		if err := n.sendWorker(w, ask, nil); err != nil {
			return err
		}
	}
	g.asks = append(g.asks, n.eff.Send[from:]...)
	return nil
}

// summed reports whether every chunk of every worker's sum has arrived.
func (n *Node) summed() bool {
	if len(n.group.sums) == 0 {
		return false
	}
	for _, s := range n.group.sums {
		if len(s.have) < n.s.Chunks() {
			return false
		}
	}
	return true
}

// workerSum adds a chunk of a worker's sum, once. The set determines its value, also when the
// worker has restarted in between.
func (n *Node) workerSum(worker uint32, m *protocol.WorkerSum) error {
	if err := n.checkGroupAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if n.at.phase != held && n.at.phase != agreed || len(n.group.sums) == 0 {
		return protocol.ErrDuplicate
	}
	s := &n.group.sums[worker]
	switch {
	case m.Set != s.set:
		return fmt.Errorf("%w: worker %d added another set than it was asked for", protocol.ErrMismatch, worker)
	case s.have[m.Index]:
		return protocol.ErrDuplicate
	case uint64(m.Index) >= uint64(n.s.Chunks()),
		len(m.Elements) != n.s.ChunkLen(int(m.Index))*field.ElementSize:
		return fmt.Errorf("%w: chunk %d of worker %d has %d bytes",
			protocol.ErrMalformed, m.Index, worker, len(m.Elements))
	case len(s.have) > 0 && m.Blinding != s.blind:
		return fmt.Errorf("%w: worker %d has two sums of blindings", protocol.ErrMismatch, worker)
	}
	v := make(field.Vector, len(m.Elements)/field.ElementSize)
	if err := field.DecodeVector(v, m.Elements); err != nil {
		return fmt.Errorf("%w: chunk %d of worker %d: %w", protocol.ErrMalformed, m.Index, worker, err)
	}
	if _, err := commit.ParseScalar(m.Blinding[:]); err != nil {
		return fmt.Errorf("%w: worker %d: %w", protocol.ErrMalformed, worker, err)
	}
	xof.Chunk(n.sum, uint64(m.Index)).Add(v)
	s.have[m.Index] = true
	s.blind = m.Blinding
	n.seen = n.now
	return nil
}

// blindings is the sum of the workers' sums of blinding shares.
func (g *group) blindings() (sum [32]byte) {
	shares := make([]*commit.Scalar, len(g.sums))
	for i, s := range g.sums {
		shares[i], _ = commit.ParseScalar(s.blind[:]) // workerSum has parsed it
	}
	return [32]byte(commit.SumScalars(shares).Bytes())
}

// endWorkers ends the workers' session.
func (n *Node) endWorkers() {
	for w := range n.workers() {
		n.eff.Delete(workerPublicKey(w))
		if err := n.sendWorker(w, &protocol.WorkerEnd{}, nil); err != nil {
			n.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Err: err})
		}
	}
}
