package compute

import (
	"errors"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/identity"
	"choir/crypto/xof"
	"choir/protocol"
)

// Group makes a node share its work out to workers (see Worker): they take in the
// contributions, each those of its own parties, and add them; the node alone
// knows the plan key, signs, agrees, and reveals the sum of their sums. The zero
// value is a node without workers.
type Group struct {
	Workers int             // 1 to protocol.Slots; 0: none
	Secret  *channel.Secret // shared with the workers, and with nobody else
}

// Validate names what is missing.
func (g Group) Validate() error {
	switch {
	case g.Workers < 0 || g.Workers > protocol.Slots:
		return fmt.Errorf("group: %d workers, at most %d", g.Workers, protocol.Slots)
	case g.Workers > 0 && g.Secret == nil:
		return errors.New("group: workers need a secret")
	}
	return nil
}

// group is what a node remembers of its workers' sums; all of it can be asked for
// again. Contributions stand in the node's own records.
type group struct {
	trusted protocol.BoundPlan // for contributions whose signatures a worker has verified
	asks    []protocol.Outgoing
	parts   [][]protocol.Entry // by worker: its part of the set that is asked for
	sums    []workerSum        // by worker
}

type workerSum struct {
	set   protocol.Digest
	have  map[uint32]bool // chunks that are in the node's sum
	blind [32]byte
}

// believed is a Verifier for what comes out of a seal that only the institution
// knows.
type believed struct{}

func (believed) Verify(identity.PublicKey, []byte, identity.Signature) bool { return true }

func newGroup(s protocol.BoundPlan) *group {
	s.Verifier = believed{}
	return &group{trusted: s}
}

// linksPerMessage and heldPerMessage bound a message about many parties.
const (
	linksPerMessage = 1 << 14
	heldPerMessage  = 256
)

func (n *Node) path(worker uint32) protocol.WorkerPath {
	return protocol.WorkerPath{Node: n.self, Worker: worker, Of: uint32(n.cfg.Group.Workers), Down: true}
}

func (n *Node) tell(worker uint32, m protocol.WorkerMessage) error {
	p := n.path(worker)
	b, err := n.s.SealWorker(n.cfg.Group.Secret, p, m, n.cfg.Rand)
	if err == nil {
		n.eff.Emit(n.s.SubjectWorker(p), b)
	}
	return err
}

// pinWorkers keeps a plan from being carried on with another number of workers:
// parties would move between them, and be counted by none or by two.
func (n *Node) pinWorkers() error {
	have, want := n.view.Get("workers"), fmt.Sprint(n.cfg.Group.Workers)
	switch {
	case have == nil && n.cfg.Group.Workers == 0:
		return nil
	case have == nil && n.at.round == 0:
		n.eff.Put("workers", []byte(want))
		return nil
	case string(have) != want:
		return protocol.Fail(protocol.ClassInput, "workers: the plan was begun with %q of them, now there are %s", have, want)
	}
	return nil
}

// tellLink hands a party's channel on to the party's worker.
func (n *Node) tellLink(party uint32) error {
	return n.tell(protocol.WorkerOf(party, uint32(n.cfg.Group.Workers)),
		&protocol.WorkerLinks{Parties: []uint32{party}, Secrets: []*channel.Secret{n.channels[party]}})
}

// fromWorker takes in what a worker says.
func (n *Node) fromWorker(data []byte) error {
	if n.group == nil {
		return fmt.Errorf("%w: a worker message, and this node has no workers", protocol.ErrUnknown)
	}
	if n.ended {
		return errDuplicate
	}
	p, m, err := n.s.OpenWorker(n.cfg.Group.Secret, data)
	if err != nil {
		return err
	}
	want := n.path(p.Worker)
	want.Down = false
	if p != want || p.Worker >= p.Of {
		return fmt.Errorf("%w: worker %d of %d of member %d", protocol.ErrUnknown, p.Worker, p.Of, p.Node)
	}
	switch m := m.(type) {
	case *protocol.WorkerHello:
		return n.greet(p.Worker)
	case *protocol.WorkerHeld:
		return n.workerHeld(p.Worker, m)
	case *protocol.WorkerSum:
		return n.workerSum(p.Worker, m)
	}
	return fmt.Errorf("%w: %T isn't for a node", protocol.ErrUnknown, m)
}

// greet gives a worker that has nothing everything that it needs.
func (n *Node) greet(worker uint32) error {
	all := &protocol.WorkerLinks{}
	for i := range uint32(n.n) {
		secret := n.channels[i]
		if secret == nil || protocol.WorkerOf(i, uint32(n.cfg.Group.Workers)) != worker {
			continue
		}
		all.Parties, all.Secrets = append(all.Parties, i), append(all.Secrets, secret)
	}
	for lo := 0; lo < len(all.Parties); lo += linksPerMessage {
		hi := min(lo+linksPerMessage, len(all.Parties))
		if err := n.tell(worker, &protocol.WorkerLinks{Parties: all.Parties[lo:hi], Secrets: all.Secrets[lo:hi]}); err != nil {
			return err
		}
	}
	if n.at.phase == agreed && len(n.group.asks) > 0 {
		n.eff.Send = append(n.eff.Send, n.group.asks[worker])
	}
	return nil
}

// workerHeld takes in contributions that a worker has opened, verified and made
// durable. What is wrong with one of them doesn't concern the others.
func (n *Node) workerHeld(worker uint32, m *protocol.WorkerHeld) error {
	var first error
	for _, data := range m.Contributions {
		if err := n.adopt(worker, data); err != nil && !errors.Is(err, errDuplicate) && first == nil {
			first = err
		}
	}
	return first
}

func (n *Node) adopt(worker uint32, data []byte) error {
	e, body, err := n.group.trusted.Receive(data)
	if err != nil {
		return err
	}
	m, ok := body.(*protocol.Contribution)
	if !ok || protocol.WorkerOf(e.From, uint32(n.cfg.Group.Workers)) != worker {
		return fmt.Errorf("%w: worker %d holds a %s of %s", protocol.ErrUnknown, worker, e.Kind, n.s.Name(e.From))
	}
	if err := n.whenTold(m.Round, m.Attempt); err != nil {
		return err
	}
	bundle, err := m.BundleDigest(n.s, e.From)
	if err != nil {
		return err
	}
	if p := n.have(e.From); p.whole {
		return n.again(e.From, p, bundle)
	}
	switch {
	case n.at.phase != collecting:
		return errDuplicate
	case m.Model != n.at.model:
		return fmt.Errorf("%w: %s contributed to another model", protocol.ErrMismatch, n.s.Name(e.From))
	}
	n.eff.Put(n.commitKey(e.From), data)
	return n.adopted(e.From, bundle)
}

// whenTold is when for what comes from within the group: that it is late is
// nobody's fault.
func (n *Node) whenTold(round, attempt uint32) error {
	if err := n.when(round, attempt); !errors.Is(err, protocol.ErrStale) {
		return err
	}
	return errDuplicate
}

// adopted counts a contribution that some worker holds.
func (n *Node) adopted(from uint32, bundle protocol.Digest) error {
	p, _, err := n.party(from)
	if err != nil {
		return err
	}
	p.bundle = bundle
	return n.receive(from, p)
}

// readopt counts again, after a restart, what was counted before.
func (n *Node) readopt(from uint32, m *protocol.Contribution) error {
	bundle, err := m.BundleDigest(n.s, from)
	if err != nil {
		return err
	}
	return n.adopted(from, bundle)
}

// ask asks each worker for its part of the agreed set's sum, once; repeat says it
// again.
func (n *Node) ask() error {
	g, of := n.group, uint32(n.cfg.Group.Workers)
	if len(g.asks) > 0 {
		return nil
	}
	g.parts, g.sums = make([][]protocol.Entry, of), make([]workerSum, of)
	for _, e := range n.at.set {
		w := protocol.WorkerOf(e.Party, of)
		g.parts[w] = append(g.parts[w], e)
	}
	clear(n.at.acc)
	from := len(n.eff.Send)
	for w := range of {
		g.sums[w] = workerSum{set: protocol.SetDigest(n.s, n.at.round, n.at.attempt, g.parts[w]), have: map[uint32]bool{}}
		if err := n.tell(w, &protocol.WorkerAsk{Round: n.at.round, Attempt: n.at.attempt, Set: g.parts[w]}); err != nil {
			return err
		}
	}
	g.asks = append(g.asks, n.eff.Send[from:]...)
	return nil
}

// summed reports whether every chunk of every worker's sum is in.
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

// workerSum adds a chunk of a worker's sum. The set fixes its value, so whichever
// life of the worker it comes from, it is taken in once.
func (n *Node) workerSum(worker uint32, m *protocol.WorkerSum) error {
	if err := n.whenTold(m.Round, m.Attempt); err != nil {
		return err
	}
	if n.at.phase != agreed || len(n.group.sums) == 0 {
		return errDuplicate
	}
	s := &n.group.sums[worker]
	switch {
	case m.Set != s.set:
		return fmt.Errorf("%w: worker %d added another set than it was asked for", protocol.ErrMismatch, worker)
	case s.have[m.Index]:
		return errDuplicate
	case uint64(m.Index) >= uint64(n.s.Chunks()) || len(m.Elements) != n.s.ChunkLen(int(m.Index))*field.ElementSize:
		return fmt.Errorf("%w: chunk %d of worker %d has %d bytes", protocol.ErrMalformed, m.Index, worker, len(m.Elements))
	case len(s.have) > 0 && m.Blinding != s.blind:
		return fmt.Errorf("%w: worker %d has two sums of blindings", protocol.ErrMismatch, worker)
	}
	v := make(field.Vector, len(m.Elements)/field.ElementSize)
	if err := field.DecodeVector(v, m.Elements); err != nil {
		return fmt.Errorf("%w: chunk %d of worker %d: %w", protocol.ErrMalformed, m.Index, worker, err)
	}
	if _, err := n.scalar(m.Blinding); err != nil {
		return fmt.Errorf("%w: worker %d: %w", protocol.ErrMalformed, worker, err)
	}
	lo := int(m.Index) * xof.ChunkElements
	n.at.acc[lo : lo+len(v)].Add(v)
	s.have[m.Index], s.blind = true, m.Blinding
	n.seen = n.now
	return nil
}

func (n *Node) scalar(b [32]byte) (*commit.Scalar, error) { return commit.ParseScalar(b[:]) }

// blindings is the sum of the workers' sums of blinding shares.
func (g *group) blindings() (sum [32]byte) {
	shares := make([]*commit.Scalar, len(g.sums))
	for i, s := range g.sums {
		shares[i], _ = commit.ParseScalar(s.blind[:]) // workerSum has parsed it
	}
	return [32]byte(commit.SumScalars(shares).Bytes())
}

// dismiss ends the workers' session.
func (n *Node) dismiss() {
	for w := range uint32(n.cfg.Group.Workers) {
		if err := n.tell(w, &protocol.WorkerEnd{}); err != nil {
			n.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Err: err})
		}
	}
}
