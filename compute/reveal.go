package compute

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
)

// reveal publishes the partial sum under the rule that all privacy rests on: all nodes signed
// the same digest, over a set of at least N_min, and nothing was revealed in this round before.
func (n *Node) reveal() error {
	own := n.at.agrees[n.self]
	for k := range n.nodes {
		if a := n.at.agrees[n.node(k)]; !a.Equal(own) {
			n.eff.Note(protocol.Notice{
				Code: protocol.NoteDisagree, Round: own.Round, Attempt: own.Attempt, Peer: n.s.Name(n.node(k)),
			})
			n.at.out = nil
			return n.enter(void)
		}
	}
	if !n.enough() {
		n.eff.Note(protocol.Notice{
			Code: protocol.NoteRefused, Round: own.Round, Attempt: own.Attempt, Count: len(n.at.set),
			Err: fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, len(n.at.set), n.s.Plan.MinParties),
		})
		return n.enter(void)
	}
	if n.round <= n.newest {
		return fmt.Errorf("%w: round %d", protocol.ErrRevealed, n.round)
	}
	if n.agg == nil {
		return nil // the aggregator's key has not arrived
	}
	if n.group != nil && !n.summed() {
		return n.ask() // the workers' sums have not arrived
	}
	if err := n.beginSealing(); err != nil {
		return err
	}
	return n.publish()
}

// outgoingSum is the partial sum until it is revealed. It is sealed chunk by chunk.
type outgoingSum struct {
	partial field.Vector
	opening protocol.Opening
	sealer  *protocol.Sealer // nil before the first chunk
	chunks  [][]byte         // sealed so far, in order
}

// chunksAhead is how many chunks a node seals in one step while it waits for other nodes:
// about a millisecond of work, so that messages that arrive wait no longer.
const chunksAhead = 2

// sealAhead seals the partial sum while the other nodes' agrees travel, a few chunks a step.
// This node's own agree has fixed the set. The chunks leave with the last equal agree only, and
// never for another set.
func (n *Node) sealAhead() {
	a := &n.at
	if a.phase != agreed || n.agg == nil || n.group != nil || !n.enough() {
		return
	}
	switch {
	case len(n.eff.Send) > 0: // these messages leave first
	case a.out == nil || a.out.sealer == nil:
		n.check(n.beginSealing())
	default:
		n.seal(chunksAhead)
	}
	if a.out == nil || len(a.out.chunks) < n.s.Chunks() {
		n.eff.Wake = n.now // continue at once
	}
}

// makeSum computes the sum of the set's shares. Nothing is added to it afterwards.
func (n *Node) makeSum() (*outgoingSum, error) {
	partial, err := n.partial()
	if err != nil {
		return nil, err
	}
	return &outgoingSum{partial: partial, opening: protocol.Opening{
		Salt:     n.s.Salt(n.ownSecret(), n.round, n.attempt, n.at.digest),
		Blinding: n.blindingSum(),
	}}, nil
}

// beginSealing prepares the sum to be sealed. After a restart it makes it again.
func (n *Node) beginSealing() (err error) {
	if n.at.out == nil {
		if n.at.out, err = n.makeSum(); err != nil {
			return err
		}
		if protocol.VectorDigest(n.at.out.partial, n.at.out.opening) != n.at.agrees[n.self].Partial {
			return fmt.Errorf("%w: the stored shares add up to another sum than this node signed",
				protocol.ErrMismatch)
		}
	}
	if n.at.out.sealer != nil {
		return nil
	}
	context := n.s.PartialContext(n.self, n.round, n.attempt, n.at.agrees[n.self].Partial)
	n.at.out.sealer, err = n.s.Sealer(n.aggregatorSecret(), context)
	return err
}

// seal makes at most the given number of further chunks, each as the message that is persisted
// and sent.
func (n *Node) seal(chunks int) {
	s := n.at.out
	first := len(s.chunks)
	for i := first; i < min(n.s.Chunks(), first+chunks); i++ {
		b, _ := s.sealer.Seal(i, func(plain []byte) {
			field.PutVector(plain, xof.Chunk(s.partial, uint64(i)))
		})
		s.chunks = append(s.chunks, b)
		n.eff.Ahead = append(n.eff.Ahead, b)
	}
}

// partial computes the sum of the set's shares, with this node's noise if the plan places it
// here.
func (n *Node) partial() (field.Vector, error) {
	if n.group == nil {
		if err := n.restrict(n.at.set); err != nil {
			return nil, err
		}
	}
	if n.s.Plan.Noise == protocol.NoiseCompute {
		if err := n.addNoise(n.sum); err != nil {
			return nil, err
		}
	}
	return n.sum, nil
}

// addNoise adds noise under NoiseCompute, where each node alone makes the release private. The
// seed follows from the node's secret and the set; it is expanded chunk by chunk on all cores.
func (n *Node) addNoise(v field.Vector) error {
	g, err := noise.NewGaussian(n.s.Plan.Variance)
	if err != nil {
		return err
	}
	seed := noise.Seed(n.s.NoiseSeed(n.ownSecret(), n.round, n.attempt, n.at.digest))
	return parallel.Try(n.s.Chunks(), func(i int) error {
		part := xof.Chunk(v, uint64(i))
		from, size := n.s.ChunkCoordinates(i)
		x, f := make([]int64, size), make(field.Vector, len(part))
		for lo := 0; lo < size; lo += noise.ChunkSamples {
			samples := x[lo:min(size, lo+noise.ChunkSamples)]
			if err := g.FillChunk(samples, seed, uint64((from+lo)/noise.ChunkSamples)); err != nil {
				return err
			}
		}
		n.s.Plan.ToField(f, x)
		part.Add(f)
		return nil
	})
}

// publish seals the rest of the partial sum, signs its head and sends all of it.
func (n *Node) publish() error {
	if err := n.enter(revealed); err != nil {
		return err
	}
	own := n.at.agrees[n.self]
	n.seal(n.s.Chunks())
	chunks := n.at.out.chunks
	m := &protocol.Partial{Round: own.Round, Attempt: own.Attempt, Set: own.Set, Vector: own.Partial}
	if err := n.s.SealOpening(n.aggregatorSecret(), n.self, m, n.at.out.opening); err != nil {
		return err
	}
	head, err := n.sign(m)
	if err != nil {
		return err
	}
	n.eff.Put(n.revealKey(own.Round), head)
	n.newest = own.Round
	n.seen = n.now
	n.dropSum() // what was revealed is never computed again
	n.at.out = nil
	n.resends = append(n.resends, n.partialHead(head))
	n.eff.Send = append(n.eff.Send, n.partialHead(head))
	for i, b := range chunks {
		n.eff.Put(n.partialKey(own.Round, uint32(i)), b)
		n.emitChunk(i, b)
	}
	n.eff.Note(protocol.Notice{
		Code:    protocol.NoteRevealed,
		Round:   own.Round,
		Attempt: own.Attempt,
		Count:   len(n.at.set),
		Total:   n.parties,
	})
	return nil
}

func (n *Node) partialHead(head []byte) protocol.Outgoing {
	return protocol.Outgoing{Subject: n.s.SubjectPartial(n.self, n.round, n.attempt, "head"), Data: head}
}

func (n *Node) emitChunk(i int, b []byte) {
	n.eff.Emit(n.s.SubjectPartial(n.self, n.round, n.attempt, strconv.Itoa(i)), b)
}

// resendChunks retransmits the revealed vector from the store.
func (n *Node) resendChunks() {
	for i := range n.s.Chunks() {
		if b := n.get(n.partialKey(n.round, uint32(i))); b != nil {
			n.emitChunk(i, b)
		}
	}
}

// resendManifests forwards the contributions of the revealed set: the aggregator needs all of
// them for its transcript, and their parties may have left.
func (n *Node) resendManifests() {
	for _, e := range n.at.set {
		if data := n.get(n.commitKey(e.Party)); data != nil {
			what := "manifest-" + strconv.Itoa(int(e.Party))
			n.eff.Emit(n.s.SubjectPartial(n.self, n.round, n.attempt, what), data)
		}
	}
}

// blindingSum is the sum of the set's blinding shares, zero without audit.
func (n *Node) blindingSum() [32]byte {
	if n.s.Plan.Audit && n.group != nil {
		return n.group.blindings()
	}
	return n.blindings(n.at.set)
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
