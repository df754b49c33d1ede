package bench

import (
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"choir/aggregator"
	"choir/compute"
	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/party"
	"choir/protocol"
	"choir/transport"
)

// stream is one session under the stream driver. Its stages, each of them some
// phases: keys, channels (party by party), contributions (party by party), agreement
// and result, settling.
type stream struct {
	cfg         Config
	w           *world
	meter       *meter
	kem         *kemMeter
	interrupted func() error // before each phase: whether to go on
	now         int64
	stage       string
	byName      map[string]uint32 // parties

	nodes   []*node
	agg     *node
	keys    [][]byte        // Key messages of the nodes and the aggregator
	parked  [][]byte        // by party: what its process would find when it starts again
	round   []byte          // the Round message
	drawn   atomic.Int64    // bytes of randomness that parties have read
	sampler *noise.Gaussian // its tables belong to the variance, not to a party

	updates [][]int64 // memory for updates, by place in a batch of parties
	// by place: what they know of keys, as a party does in a session's later rounds
	verifiers          []*verifier
	settlers           []*actor
	receipts           map[uint32][][]byte // for the settlers
	tally              *tally
	nodeLive           int64 // the most bytes that one node holds
	noiseAhead         bool  // noise was drawn before the round
	result, resultHead [][]byte
	sum                []int64
	signed             int64 // signatures of nodes while they accepted manifests
	waiting            int   // manifests in each node's inbox
	listeners          transport.Index[*node]
}

// node is a compute node or the aggregator, with its messages for the next phase.
type node struct {
	actor
	batch  *protocol.Batch
	signer *countedSigner
	chunks [][]byte // of them, those that are opened as they come
	inbox  [][]byte // the rest
	routed [][]byte // to be handed over
}

// countedSigner counts what it signs.
type countedSigner struct {
	*identity.PrivateKey
	n atomic.Int64
}

// Sign implements protocol.Signer.
func (s *countedSigner) Sign(msg []byte) identity.Signature {
	s.n.Add(1)
	return s.PrivateKey.Sign(msg)
}

// verifier is a process's memory of keys, which parties that take its turns share.
type verifier struct {
	mu   sync.Mutex
	keys identity.Keys
}

// Verify implements protocol.Verifier.
func (v *verifier) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys.Verify(key, msg, sig)
}

// reader counts what is read.
type reader struct{ n *atomic.Int64 }

func (r reader) Read(b []byte) (int, error) {
	n, err := io.ReadFull(rand.Reader, b)
	r.n.Add(int64(n))
	return n, err
}

func newStream(cfg Config, w *world, m *meter) (*stream, error) {
	s := &stream{cfg: cfg, w: w, meter: m, now: time.Now().UnixMilli(), byName: map[string]uint32{},
		tally: newTally(w.session), parked: make([][]byte, cfg.Parties), receipts: map[uint32][][]byte{}}
	for i, member := range w.session.Plan.Members[:cfg.Parties] {
		s.byName[member.Name] = uint32(i)
	}
	if cfg.Sigma > 0 {
		var err error
		if s.sampler, err = noise.NewGaussian(cfg.Sigma * cfg.Sigma); err != nil {
			return nil, err
		}
	}
	for i := cfg.Parties; i <= cfg.Parties+cfg.Computes; i++ {
		n, err := s.node(uint32(i))
		if err != nil {
			return nil, err
		}
		if i < cfg.Parties+cfg.Computes {
			s.nodes = append(s.nodes, n)
		} else {
			s.agg = n
		}
	}
	return s, nil
}

// node builds a compute node's or the aggregator's machine as run.Role does.
func (s *stream) node(i uint32) (*node, error) {
	n := &node{batch: protocol.NewBatch(s.w.session, rand.Reader),
		signer: &countedSigner{PrivateKey: s.w.keys[i]}}
	s.listeners.Add(n, s.w.session.Filters(i))
	store := newMany("share/", "commit/", "channel/")
	n.actor = actor{index: i, store: store, clock: s.now}
	session := s.w.session
	session.Verifier = n.batch
	var err error
	if s.w.session.Plan.Is(i, protocol.RoleCompute) {
		n.machine, err = compute.New(compute.Config{Session: session, Key: n.signer, Rand: rand.Reader,
			View: store, ResendMS: longTime})
		return n, err
	}
	store.discard = []string{"transcript/"} // it looks manifests up again
	n.machine, err = aggregator.New(aggregator.Config{Session: session, Key: n.signer, Model: s.w.app,
		Rand: rand.Reader, View: store, ResendMS: longTime})
	return n, err
}

// party builds a party's machine over what its store holds. Up to ahead coordinates
// of noise are drawn when it has nothing else to do; 0: as it does by itself. v verifies
// signatures for it.
func (s *stream) party(i int, packed []byte, ahead int, v protocol.Verifier) (*actor, error) {
	store, session := unpack(packed), s.w.session
	session.Verifier = v
	m, err := party.New(party.Config{Session: session, Key: s.w.keys[i], App: s.w.app, Ledger: unpaid{},
		Rand: reader{&s.drawn}, View: store, ResendMS: longTime, Ahead: ahead,
		Sampler: s.sampler})
	return &actor{index: uint32(i), machine: m, store: store, clock: s.now}, err
}

// addressee is the party that a subject names last.
func (s *stream) addressee(subject string) (uint32, bool) {
	tokens := strings.Split(subject, ".")
	for _, t := range slices.Backward(tokens) {
		if i, ok := s.byName[t]; ok {
			return i, true
		}
	}
	return 0, false
}

// Only here do all members share one heap: from manyParties on the collector waits for more
// garbage. The bound on all memory protects the system and must not be near, since there the
// runtime collects all the time.
const (
	manyParties = 1024
	manyGarbage = 800      // percent of what is alive
	muchMemory  = 12 << 30 // bytes
)

// run is the whole session.
func (s *stream) run() error {
	if s.cfg.Parties >= manyParties {
		defer debug.SetGCPercent(debug.SetGCPercent(manyGarbage))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(muchMemory))
	}
	for _, stage := range []struct {
		name string
		f    func() error
	}{{"keys", s.publishKeys}, {"channels", s.channels}, {"contributions", s.contributions},
		{"agreement", s.agreement}, {"settling", s.settling}} {
		s.stage = stage.name
		s.cfg.progress("%s", s.stage)
		if err := stage.f(); err != nil {
			return fmt.Errorf("stream: %s: %w", stage.name, err)
		}
	}
	for _, n := range append(s.nodes, s.agg) {
		if missed := n.store.(*many).missed; missed != "" {
			return fmt.Errorf("stream: member %d read %q, which the driver does not keep", n.index, missed)
		}
	}
	return s.w.check(s.sum)
}

// batchBytes bounds the vectors of the parties that are in memory together. Of each of them
// there are its row, noise and message: they stay in the caches until their nodes have
// opened them.
const batchBytes = 2 << 20

// manifestsTogether is how many manifests wait at a node before it verifies them, fewer at the
// end, as when many parties contribute at once.
const manifestsTogether = 1024

// mostTogether bounds the parties that are in memory together.
const mostTogether = 256

// together is how many of them with vectors.
func (s *stream) together() int {
	return min(mostTogether, max(s.cfg.Workers, batchBytes/(8*s.cfg.Dim)))
}

// batches calls f for parties lo..hi-1 of the first ones, size at a time: a node's backlog when they send
// faster than it accepts.
func (s *stream) batches(parties, size int, f func(lo, hi int) error) error {
	for lo := 0; lo < parties; lo += size {
		s.cfg.progress("%s, %d of %d parties", s.stage, lo, parties)
		if err := f(lo, min(lo+size, parties)); err != nil {
			return err
		}
	}
	return nil
}

// phase runs f alone and adds its cost to a phase.
func (s *stream) phase(role, name string, inRound bool, members int, f func() error) error {
	if err := s.interrupted(); err != nil {
		return err
	}
	c, err := Measure(f)
	s.meter.phase(role, name, inRound, members).add(c)
	return err
}

// nodesAndAggregator runs f for every compute node and the aggregator, on all workers,
// and adds the cost to a phase of each role: shared out by how long they were busy.
func (s *stream) nodesAndAggregator(name string, inRound bool, f func(n *node) error) error {
	busy := make([]float64, len(s.nodes)+1)
	c, err := Measure(func() error {
		return parallel(s.cfg.Workers, len(busy), func(k int) error {
			at := time.Now()
			defer func() { busy[k] = time.Since(at).Seconds() }()
			if k == 0 {
				return f(s.agg) // first: it has more to do than any node
			}
			return nodeWork(s.nodes[k-1], f)
		})
	})
	total := 0.0
	for _, b := range busy {
		total += b
	}
	nodes, agg := s.meter.phase("compute", name, inRound, len(s.nodes)),
		s.meter.phase("aggregator", name, inRound, 1)
	of := Phase{}
	of.add(c)
	if total > 0 {
		of.move(agg, busy[0]/total)
	}
	nodes.add(cost{of.Seconds, of.CPUSeconds, c.Allocs, c.AllocBytes})
	return err
}

// eachNode runs f for every compute node, on all workers.
func (s *stream) eachNode(f func(n *node) error) error {
	return parallel(s.cfg.Workers, len(s.nodes), func(k int) error { return nodeWork(s.nodes[k], f) })
}

// nodeWork is at the root of every stack on which a compute node's memory is allocated, where
// liveBytes finds it.
//
//go:noinline
func nodeWork(n *node, f func(n *node) error) error { return f(n) }

// enqueue gives a compute node messages. They are the senders' own bytes, which no member
// changes.
func enqueue(n *node, messages [][]byte) {
	_ = nodeWork(n, func(n *node) error {
		for _, m := range messages {
			if protocol.IsChunk(m) {
				n.chunks = append(n.chunks, m)
			} else {
				n.inbox = append(n.inbox, m)
			}
		}
		return nil
	})
}

// prepare verifies the signatures of a node's inbox together.
func (n *node) prepare() error {
	n.batch.Prepare(n.inbox)
	return nil
}

// deliver steps through the inbox.
func (n *node) deliver() error { return n.through(&n.inbox) }

// open steps through the chunks.
func (n *node) open() error { return n.through(&n.chunks) }

func (n *node) through(messages *[][]byte) error {
	for i, m := range *messages {
		if err := n.step(protocol.Delivery{Data: m, More: i < len(*messages)-1}); err != nil {
			return err
		}
	}
	clear(*messages)
	*messages = (*messages)[:0]
	return nil
}

// liveBytes estimates, from the sampled heap profile, what is alive of what was
// allocated on stacks through a function whose name contains the mark.
func liveBytes(mark string) int64 {
	runtime.GC()
	runtime.GC() // the profile shows the state of the last but one
	records := make([]runtime.MemProfileRecord, 4096)
	for {
		n, ok := runtime.MemProfile(records, false)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, n+4096)
	}
	total := 0.0
	for i := range records {
		r := &records[i]
		if r.InUseObjects() == 0 || !through(r.Stack(), mark) {
			continue
		}
		total += unsample(float64(r.InUseObjects()), float64(r.InUseBytes()))
	}
	return int64(total)
}

func through(stack []uintptr, mark string) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, mark) {
			return true
		}
		if !more {
			return false
		}
	}
}
