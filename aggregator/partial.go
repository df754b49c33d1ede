package aggregator

import (
	"fmt"

	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// partial is what a node has sent of its partial sum.
type partial struct {
	head   *protocol.Partial
	headAt []byte
	sum    field.Vector
	chunks map[uint32]protocol.Digest
}

func (a *Aggregator) partialOf(node uint32) *partial {
	p := a.at.partials[node]
	if p == nil {
		p = &partial{sum: make(field.Vector, a.s.Plan.Dim), chunks: map[uint32]protocol.Digest{}}
		a.at.partials[node] = p
	}
	return p
}

func (a *Aggregator) partial(from uint32, m *protocol.Partial, data []byte) error {
	if err := a.when(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.keep("psum", from, data); err != nil {
		return err
	}
	p := a.partialOf(from)
	p.head, p.headAt = m, data
	return nil
}

// chunk takes in a piece of a partial sum.
func (a *Aggregator) chunk(data []byte) error {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil {
		return err
	}
	if c.To != a.self || c.Purpose != protocol.PurposePartial || !a.s.Plan.Is(c.From, protocol.RoleCompute) {
		return fmt.Errorf("%w: a chunk that isn't a partial sum for the aggregator", protocol.ErrUnknown)
	}
	if err := a.when(c.Round, c.Attempt); err != nil {
		return err
	}
	if err := a.addChunk(c); err != nil {
		return err
	}
	a.eff.Put(a.key("psum", c.From, c.Index), data)
	a.seen = a.now
	return nil
}

func (a *Aggregator) addChunk(c *protocol.Chunk) error {
	link := a.links[c.From]
	if link == nil {
		return fmt.Errorf("%w: %s has no channel to the aggregator", protocol.ErrEarly, a.s.Name(c.From))
	}
	p := a.partialOf(c.From)
	d := protocol.ChunkDigest(c.Ciphertext)
	have, again := p.chunks[c.Index]
	if again && have == d {
		return errDuplicate
	}
	plain, err := a.s.OpenChunk(link.Secret, c) // before anybody is accused: only the node can have sealed it
	if err != nil {
		return err
	}
	if again {
		return fmt.Errorf("%w: chunk %d of %s's partial sum", protocol.ErrEquivocate, c.Index, a.s.Name(c.From))
	}
	lo := int(c.Index) * xof.ChunkElements
	if err := field.DecodeVector(p.sum[lo:lo+a.s.ChunkLen(int(c.Index))], plain); err != nil {
		return fmt.Errorf("%w: chunk %d of %s's partial sum: %w", protocol.ErrMalformed, c.Index, a.s.Name(c.From), err)
	}
	p.chunks[c.Index] = d
	return nil
}

// summed: every node has revealed, over the set that all of them signed, the
// vector that it signed for.
func (a *Aggregator) summed() bool {
	if len(a.at.agrees) < a.m || len(a.at.holds) < a.m || a.voided() != nil {
		return false
	}
	for k := range a.m {
		node := a.s.Plan.Compute(k)
		p := a.at.partials[node]
		if p == nil || p.head == nil || len(p.chunks) < a.s.Chunks() {
			return false
		}
		if err := a.checkPartial(node, p); err != nil {
			a.finish(err)
			return false
		}
	}
	return a.accounted()
}

// accounted: every contribution that the sum counts is here as its party signed
// it, so that the transcript shows it. Nodes say them again with their partial
// sums when one was lost.
func (a *Aggregator) accounted() bool {
	for _, e := range a.set() {
		if c, ok := a.at.commits[e.Party]; !ok || c.bundle != e.Bundle {
			return false
		}
	}
	return true
}

// checkPartial holds a node to what it signed. A contradiction is proof against
// the node: the session can't go on with it and the abort names it.
func (a *Aggregator) checkPartial(node uint32, p *partial) error {
	switch {
	case p.head.Set != a.at.agrees[node].Set:
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s revealed over another set than it agreed to", protocol.ErrMismatch, a.s.Name(node))
	case protocol.VectorDigest(p.sum) != p.head.Vector:
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s sent another partial sum than it signed", protocol.ErrMismatch, a.s.Name(node))
	case protocol.SetDigest(a.s, a.at.round, a.at.attempt, a.set()) != p.head.Set:
		return protocol.Fail(protocol.ClassIntegrity, "%w: the nodes agreed to another set than the intersection of their lists", protocol.ErrMismatch)
	}
	return nil
}
