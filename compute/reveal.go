package compute

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
)

// reveal checks the rule that everything rests on: M equal signed digests over
// a set of at least N_min, and nothing revealed in this round before. Then it
// records the reveal and sends it, in this order.
func (n *Node) reveal() error {
	own := n.at.agrees[n.self]
	for k := range n.m {
		if a := n.at.agrees[n.node(k)]; a.Set != own.Set || a.Count != own.Count {
			n.eff.Note(protocol.Notice{Code: protocol.NoteDisagree, Round: own.Round, Attempt: own.Attempt, Peer: n.s.Name(n.node(k))})
			n.at.sealed = nil
			return n.enter(void)
		}
	}
	if len(n.at.set) < int(n.s.Plan.MinParties) {
		n.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: own.Round, Attempt: own.Attempt, Count: len(n.at.set),
			Err: fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, len(n.at.set), n.s.Plan.MinParties)})
		return n.enter(void)
	}
	if n.at.round <= n.newest {
		return fmt.Errorf("%w: round %d", protocol.ErrRevealed, n.at.round)
	}
	if n.agg == nil {
		return nil // its key is on the way
	}
	if n.group != nil && !n.summed() {
		return n.ask() // its workers' sums are on the way
	}
	if n.at.sealed == nil {
		if err := n.beginSealing(); err != nil {
			return err
		}
	}
	return n.publish()
}

// sealed is the partial sum on its way into the messages that reveal it.
type sealed struct {
	partial field.Vector
	sealer  *protocol.Sealer
	hash    *protocol.VectorHash
	chunks  [][]byte // so far, in order
}

// chunksAhead is how many chunks a node seals in one step while it waits for others:
// about a millisecond's work, behind which whatever came is taken in.
const chunksAhead = 2

// prepare seals the partial sum while the others' agrees are on their way, a few chunks
// a step. Its own agree has fixed the set; what was sealed leaves with nothing but
// the M-th equal agree, and for another set than this one it never leaves. Under
// NoiseCompute there is nothing ahead: a node that dies would draw other noise.
func (n *Node) prepare() {
	a := &n.at
	if a.phase != agreed || n.agg == nil || n.group != nil || n.s.Plan.Noise == protocol.NoiseCompute || len(a.set) < int(n.s.Plan.MinParties) {
		return
	}
	switch {
	case len(n.eff.Send) > 0: // that leaves first
	case a.sealed == nil:
		n.must(n.beginSealing())
	default:
		n.seal(chunksAhead)
	}
	if a.sealed == nil || len(a.sealed.chunks) < n.s.Chunks() {
		n.eff.Wake = n.now // there is more
	}
}

// beginSealing takes the sum of the set's shares. What is taken in later counts for no
// attempt that this node is in.
func (n *Node) beginSealing() error {
	partial, err := n.partial()
	if err != nil {
		return err
	}
	c := protocol.Context{From: n.self, To: n.s.Plan.Aggregator(), Round: n.at.round, Attempt: n.at.attempt, Purpose: protocol.PurposePartial}
	sealer, err := n.s.Sealer(n.agg.Secret, c)
	if err != nil {
		return err
	}
	n.at.sealed = &sealed{partial: partial, sealer: sealer, hash: protocol.NewVectorHash()}
	return nil
}

// seal makes up to so many more chunks, each in the message that is made durable and
// sent.
func (n *Node) seal(chunks int) {
	s := n.at.sealed
	for i := len(s.chunks); i < n.s.Chunks() && chunks > 0; i, chunks = i+1, chunks-1 {
		b, _ := s.sealer.Seal(i, func(plain []byte) {
			field.PutVector(plain, xof.Chunk(s.partial, uint64(i)))
			s.hash.Write(plain)
		})
		s.chunks = append(s.chunks, b)
		n.eff.Ahead = append(n.eff.Ahead, b)
	}
}

// partial is the sum of the set's shares, with this node's noise if the plan
// places it here.
func (n *Node) partial() (field.Vector, error) {
	if n.group == nil {
		if err := n.keepSet(); err != nil {
			return nil, err
		}
	}
	if n.s.Plan.Noise == protocol.NoiseCompute {
		if err := n.addNoise(n.at.acc); err != nil {
			return nil, err
		}
	}
	return n.at.acc, nil
}

// addNoise is the other placement: this node alone makes the release private. The
// noise comes from a fresh seed, chunk by chunk on all cores.
func (n *Node) addNoise(v field.Vector) error {
	g, err := noise.NewGaussian(n.s.Plan.Variance)
	if err != nil {
		return err
	}
	seed, err := noise.NewSeed(n.cfg.Rand)
	if err != nil {
		return err
	}
	return parallel.Try(n.s.Chunks(), func(i int) error {
		part := xof.Chunk(v, uint64(i))
		from, size := n.s.ChunkCoordinates(i)
		x, f := make([]int64, size), make(field.Vector, len(part))
		for lo := 0; lo < size; lo += noise.ChunkSamples {
			if err := g.FillChunk(x[lo:min(size, lo+noise.ChunkSamples)], seed, uint64((from+lo)/noise.ChunkSamples)); err != nil {
				return err
			}
		}
		if err := n.s.Plan.ToField(f, x); err != nil {
			return err
		}
		part.Add(f)
		return nil
	})
}

// publish seals what isn't sealed yet and signs for the whole.
func (n *Node) publish() error {
	if err := n.enter(revealed); err != nil {
		return err
	}
	own := n.at.agrees[n.self]
	n.seal(n.s.Chunks())
	chunks, hash := n.at.sealed.chunks, n.at.sealed.hash
	head, err := n.sign(&protocol.Partial{Round: own.Round, Attempt: own.Attempt, Set: own.Set, Vector: hash.Digest(), Blinding: n.blindingSum()})
	if err != nil {
		return err
	}
	n.eff.Put(n.revealKey(own.Round), head)
	n.newest, n.seen = own.Round, n.now
	n.at.acc, n.at.pending, n.at.sealed = nil, nil, nil // what was revealed is never computed again
	n.current = append(n.current, n.headOf(head))
	n.eff.Send = append(n.eff.Send, n.headOf(head))
	for i, b := range chunks {
		n.eff.Put(n.partialKey(own.Round, uint32(i)), b)
		n.sayChunk(i, b)
	}
	n.eff.Note(protocol.Notice{Code: protocol.NoteRevealed, Round: own.Round, Attempt: own.Attempt, Count: len(n.at.set), Total: n.n})
	return nil
}

func (n *Node) headOf(head []byte) protocol.Outgoing {
	return protocol.Outgoing{Subject: n.s.SubjectPartial(n.self, n.at.round, n.at.attempt, "head"), Data: head}
}

func (n *Node) sayChunk(i int, b []byte) {
	n.eff.Emit(n.s.SubjectPartial(n.self, n.at.round, n.at.attempt, strconv.Itoa(i)), b)
}

// sayChunks says the revealed vector again, from the disk.
func (n *Node) sayChunks() {
	for i := range n.s.Chunks() {
		if b := n.get(n.partialKey(n.at.round, uint32(i))); b != nil {
			n.sayChunk(i, b)
		}
	}
}

// blindingSum is the sum of this node's blinding shares over the set, zero
// without audit. Alone it says nothing; with all nodes' it opens the sum of the
// set's commitments.
func (n *Node) blindingSum() (sum [32]byte) {
	if !n.s.Plan.Audit {
		return sum
	}
	if n.group != nil {
		return n.group.blindings()
	}
	shares := make([]*commit.Scalar, len(n.at.set))
	for i, e := range n.at.set {
		shares[i] = n.at.parties[e.Party].blind
	}
	return [32]byte(commit.SumScalars(shares).Bytes())
}

func appendU32s(b []byte, v []uint32) []byte {
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

func parseU32s(b []byte) []uint32 {
	v := make([]uint32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, binary.BigEndian.Uint32(b))
	}
	return v
}
