package aggregator

import (
	"bytes"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// partial is what a node has sent of its partial sum. The vector is kept once, in the
// form that the transcript records; the round's sum takes it in as it comes.
type partial struct {
	head   *protocol.Partial
	headAt []byte
	record []byte   // the transcript's entry; elements from its second byte on
	seals  [][]byte // of the chunks: the last bytes of their ciphertexts; nil for those that aren't here
	hash   *protocol.VectorHash
	hashed int             // chunks that hash has taken in, in order
	vector protocol.Digest // once all of it is here
	fits   bool            // checkPartial found nothing to say
}

func (a *Aggregator) partialOf(node uint32) *partial {
	p := a.at.partials[node]
	if p == nil {
		p = &partial{record: protocol.EmptyTranscriptVector(a.s.Plan.Elements()), seals: make([][]byte, a.s.Chunks()), hash: protocol.NewVectorHash()}
		a.at.partials[node] = p
	}
	if a.at.total == nil {
		a.at.total = newTotal(a.s.Plan.Elements())
	}
	return p
}

// place is where the record has a chunk's elements: room for them, and no more.
func (a *Aggregator) place(p *partial, chunk int) []byte {
	lo := 1 + chunk*xof.ChunkElements*field.ElementSize
	hi := lo + a.s.ChunkLen(chunk)*field.ElementSize
	return p.record[lo:hi:hi]
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
	c, err := protocol.ViewChunk(data)
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
	if p := a.partialOf(c.From); p.whole() {
		a.eff.Ahead = append(a.eff.Ahead, p.record) // what the transcript gets of it stays as it is
	}
	return nil
}

func (a *Aggregator) addChunk(c *protocol.Chunk) error {
	link := a.links[c.From]
	if link == nil {
		return fmt.Errorf("%w: %s has no channel to the aggregator", protocol.ErrEarly, a.s.Name(c.From))
	}
	p, i := a.partialOf(c.From), int(c.Index)
	if uint64(c.Index) >= uint64(len(p.seals)) {
		return fmt.Errorf("%w: chunk %d of %d", protocol.ErrMalformed, c.Index, len(p.seals))
	}
	seal := sealOf(c.Ciphertext)
	if have := p.seals[i]; bytes.Equal(have, seal) && have != nil {
		return errDuplicate
	}
	if p.seals[i] != nil {
		if _, err := a.s.OpenChunk(link.Secret, c); err != nil { // before anybody is accused: only the node can have sealed it
			return err
		}
		return fmt.Errorf("%w: chunk %d of %s's partial sum", protocol.ErrEquivocate, c.Index, a.s.Name(c.From))
	}
	plain, err := a.s.OpenChunkTo(a.place(p, i)[:0], link.Secret, c)
	if err != nil {
		return err
	}
	if err := a.at.total.add(i, plain, a.m); err != nil {
		return fmt.Errorf("%w: chunk %d of %s's partial sum: %w", protocol.ErrMalformed, c.Index, a.s.Name(c.From), err)
	}
	p.seals[i] = seal
	a.digest(p)
	return nil
}

// sealOf is what tells a chunk that came before from another one: the tag. Who doesn't
// know the key can't make another chunk with it; the node itself could, and would
// have it overlooked, as it is bound by the digest that it signs for the vector.
// Hashing the chunk as well would cost as much as that digest does.
func sealOf(ciphertext []byte) []byte {
	return append([]byte{}, ciphertext[max(0, len(ciphertext)-channel.Overhead):]...)
}

// digest takes into the vector's digest what has come in order: each chunk once, when
// it comes, and not the whole vector whenever something else does.
func (a *Aggregator) digest(p *partial) {
	for p.hashed < len(p.seals) && p.seals[p.hashed] != nil {
		p.hash.Write(a.place(p, p.hashed))
		p.hashed++
	}
	if p.whole() {
		p.vector = p.hash.Digest()
	}
}

func (p *partial) whole() bool { return p.hashed == len(p.seals) }

// summed: every node has revealed, over the set that all of them signed, the
// vector that it signed for.
func (a *Aggregator) summed() bool {
	if len(a.at.agrees) < a.m || len(a.at.holds) < a.m || a.voided() != nil {
		return false
	}
	for k := range a.m {
		p := a.at.partials[a.node(k)]
		if p == nil || p.head == nil || !p.whole() {
			return false
		}
		if p.fits {
			continue
		}
		if err := a.checkPartial(a.node(k), p); err != nil {
			a.finish(err)
			return false
		}
		p.fits = true
	}
	return a.accounted()
}

// accounted: every contribution that the sum counts is here as its party signed
// it, so that the transcript shows it. Nodes say them again with their partial
// sums when one was lost.
func (a *Aggregator) accounted() bool {
	for set := a.set(); a.at.accounts < len(set); a.at.accounts++ {
		e := set[a.at.accounts]
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
	case p.vector != p.head.Vector:
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s sent another partial sum than it signed", protocol.ErrMismatch, a.s.Name(node))
	case a.setDigest() != p.head.Set:
		return protocol.Fail(protocol.ClassIntegrity, "%w: the nodes agreed to another set than the intersection of their lists", protocol.ErrMismatch)
	}
	return nil
}
