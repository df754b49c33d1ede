package compute

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/protocol"
)

// reveal checks the rule that everything rests on: M equal signed digests over
// a set of at least N_min, and nothing revealed in this round before. Then it
// records the reveal and sends it, in this order.
func (n *Node) reveal() error {
	own := n.at.agrees[n.self]
	for k := range n.m {
		if a := n.at.agrees[n.s.Plan.Compute(k)]; a.Set != own.Set || a.Count != own.Count {
			n.eff.Note(protocol.Notice{Code: protocol.NoteDisagree, Round: own.Round, Attempt: own.Attempt, Peer: n.s.Name(n.s.Plan.Compute(k))})
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
	partial, err := n.partial()
	if err != nil {
		return err
	}
	return n.publish(partial)
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

// keepSet turns the sum of everything taken in into the set's: it takes out again
// whoever isn't in it.
func (n *Node) keepSet() error {
	for i, c := range n.at.parties {
		if _, in := protocol.Find(n.at.set, i); in {
			continue
		}
		if err := n.expel(i, c); err != nil {
			return err
		}
	}
	return nil
}

// addNoise is the other placement: this node alone makes the release private.
func (n *Node) addNoise(v field.Vector) error {
	g, err := noise.NewGaussian(n.s.Plan.Variance)
	if err != nil {
		return err
	}
	x := make([]int64, len(v))
	if err := g.Fill(x, n.cfg.Rand); err != nil {
		return err
	}
	for i, e := range x {
		f, err := field.FromInt64(e)
		if err != nil {
			return err
		}
		v[i] = field.Add(v[i], f)
	}
	return nil
}

func (n *Node) publish(partial field.Vector) error {
	if err := n.enter(revealed); err != nil {
		return err
	}
	own, agg := n.at.agrees[n.self], n.s.Plan.Aggregator()
	head, err := n.sign(&protocol.Partial{Round: own.Round, Attempt: own.Attempt, Set: own.Set, Vector: protocol.VectorDigest(partial), Blinding: n.blindingSum()})
	if err != nil {
		return err
	}
	c := protocol.Context{From: n.self, To: agg, Round: own.Round, Attempt: own.Attempt, Purpose: protocol.PurposePartial}
	chunks, err := n.s.SealVector(n.agg.Secret, c, field.AppendVector(nil, partial))
	if err != nil {
		return err
	}
	out := []protocol.Outgoing{{Subject: n.s.SubjectPartial(n.self, own.Round, own.Attempt, "head"), Data: head}}
	for _, ch := range chunks {
		b, err := ch.Marshal()
		if err != nil {
			return err
		}
		out = append(out, protocol.Outgoing{Subject: n.s.SubjectPartial(n.self, own.Round, own.Attempt, fmt.Sprint(ch.Index)), Data: b})
	}
	n.eff.Put(n.revealKey(own.Round), protocol.MarshalOutgoing(out))
	n.eff.Send = append(n.eff.Send, out...)
	n.current = append(n.current, out...)
	n.newest, n.seen = own.Round, n.now
	n.at.acc = nil // what was revealed is never computed again
	n.eff.Note(protocol.Notice{Code: protocol.NoteRevealed, Round: own.Round, Attempt: own.Attempt, Count: len(n.at.set), Total: n.n})
	return nil
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
