package aggregator

import (
	"bytes"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/protocol"
)

// partial is what has arrived of a node's partial sum. The vector is kept once, as the
// transcript records it; its chunks are added to the round's sum as they arrive.
type partial struct {
	head    *protocol.Partial
	headMsg []byte
	opening *protocol.Opening // from the head; nil before that, and if it does not open
	record  []byte            // the transcript's entry: the opening and the elements
	tags    [][]byte          // by chunk: its authentication tag; nil for those that have not arrived
	hash    *protocol.VectorHash
	hashed  int              // chunks that hash covers, in order
	vector  *protocol.Digest // once it is whole and has an opening
	checked bool             // checkPartial found no contradiction
}

func (a *Aggregator) partialOf(node uint32) *partial {
	p := a.at.partials[node]
	if p == nil {
		p = &partial{
			record: protocol.EmptyTranscriptVector(a.s.Plan.Elements()),
			tags:   make([][]byte, a.s.Chunks()),
			hash:   protocol.NewVectorHash(),
		}
		a.at.partials[node] = p
	}
	if a.at.total == nil {
		a.at.total = newTotal(a.s.Plan.Elements())
	}
	return p
}

// chunkOf returns the part of the record for a chunk's elements, with no spare capacity.
func (a *Aggregator) chunkOf(p *partial, chunk int) []byte {
	lo := protocol.TranscriptVectorHeader + chunk*xof.ChunkElements*field.ElementSize
	hi := lo + a.s.ChunkLen(chunk)*field.ElementSize
	return p.record[lo:hi:hi]
}

// partial accepts the signed head of a partial sum.
func (a *Aggregator) partial(from uint32, m *protocol.Partial, data []byte) error {
	if err := a.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	if err := a.accept("psum", from, data); err != nil {
		return err
	}
	a.setPartial(from, m, data)
	a.announce(a.partialOf(from))
	return nil
}

// announce has the record of a partial sum written in advance, once it does not change any more.
func (a *Aggregator) announce(p *partial) {
	if p.head != nil && p.whole() {
		a.eff.Ahead = append(a.eff.Ahead, p.record)
	}
}

// setPartial keeps the head of a partial sum. A sealed opening that does not open leaves it
// without one, which checkPartial finds.
func (a *Aggregator) setPartial(from uint32, m *protocol.Partial, data []byte) {
	p := a.partialOf(from)
	p.head = m
	p.headMsg = data
	if secret := a.nodeSecret(from); secret != nil {
		if o, err := a.s.OpenOpening(secret, from, m); err == nil {
			p.opening = &o
			protocol.SetTranscriptOpening(p.record, o)
		}
	}
}

// signed reports whether the vector, which is whole, is the one that the node signed.
func (p *partial) signed() bool {
	if p.vector == nil && p.opening != nil {
		d := p.hash.Digest(*p.opening)
		p.vector = &d
	}
	return p.vector != nil && *p.vector == p.head.Vector
}

// chunk accepts a chunk of a partial sum.
func (a *Aggregator) chunk(data []byte) error {
	c, err := protocol.ViewChunk(data)
	if err != nil {
		return err
	}
	if c.To != a.self || c.Purpose != protocol.PurposePartial || !a.s.Plan.Is(c.From, protocol.RoleCompute) {
		return fmt.Errorf("%w: a chunk that is not a partial sum for the aggregator", protocol.ErrUnknown)
	}
	if err := a.checkAttempt(c.Round, c.Attempt); err != nil {
		return err
	}
	if err := a.addChunk(c); err != nil {
		return err
	}
	a.eff.Put(a.key("psum", c.From, c.Index), data)
	a.seen = a.now
	a.announce(a.partialOf(c.From))
	return nil
}

func (a *Aggregator) addChunk(c *protocol.Chunk) error {
	secret := a.nodeSecret(c.From)
	if secret == nil {
		return fmt.Errorf("%w: %s has no channel to the aggregator", protocol.ErrEarly, a.s.Name(c.From))
	}
	p := a.partialOf(c.From)
	if uint64(c.Index) >= uint64(len(p.tags)) {
		return fmt.Errorf("%w: chunk %d of %d", protocol.ErrMalformed, c.Index, len(p.tags))
	}
	i := int(c.Index)
	tag := tagOf(c.Ciphertext)
	if have := p.tags[i]; have != nil {
		if bytes.Equal(have, tag) {
			return protocol.ErrDuplicate
		}
		// Opening comes before the accusation: only the node can have sealed the chunk.
		if _, err := a.s.OpenChunk(secret, c); err != nil {
			return err
		}
		return fmt.Errorf("%w: chunk %d of %s's partial sum", protocol.ErrEquivocate, c.Index, a.s.Name(c.From))
	}
	plain, err := a.s.OpenChunkTo(a.chunkOf(p, i)[:0], secret, c)
	if err != nil {
		return err
	}
	if err := a.at.total.add(i, plain, a.nodes); err != nil {
		return fmt.Errorf("%w: chunk %d of %s's partial sum: %w",
			protocol.ErrMalformed, c.Index, a.s.Name(c.From), err)
	}
	p.tags[i] = tag
	a.hashChunks(p)
	return nil
}

// tagOf returns a copy of a ciphertext's authentication tag, which tells a duplicate chunk
// from another one. Only the node, which has the key, can make another chunk with the same
// tag, and it gains nothing: the digest that it signs for the vector binds it.
// Hashing the chunk instead would cost as much as that digest.
func tagOf(ciphertext []byte) []byte {
	return append([]byte{}, ciphertext[max(0, len(ciphertext)-channel.Overhead):]...)
}

// hashChunks extends the vector's digest by the chunks that have arrived in order, each once.
func (a *Aggregator) hashChunks(p *partial) {
	for p.hashed < len(p.tags) && p.tags[p.hashed] != nil {
		p.hash.Write(a.chunkOf(p, p.hashed))
		p.hashed++
	}
}

// whole reports whether all chunks have arrived.
func (p *partial) whole() bool { return p.hashed == len(p.tags) }

// checkPartials checks the partial sums that are complete, in the nodes' order, up to the
// first that is not. All agrees and lists must have arrived. An error is evidence against a
// node: the session cannot continue.
func (a *Aggregator) checkPartials() error {
	for k := range a.nodes {
		p := a.at.partials[a.node(k)]
		if p == nil || p.head == nil || !p.whole() {
			return nil
		}
		if p.checked {
			continue
		}
		if err := a.checkPartial(a.node(k), p); err != nil {
			return err
		}
		p.checked = true
	}
	return nil
}

// checkPartial compares a partial sum with what its node signed.
func (a *Aggregator) checkPartial(node uint32, p *partial) error {
	switch {
	case p.head.Set != a.at.agrees[node].Set:
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s revealed over another set than it agreed to",
			protocol.ErrMismatch, a.s.Name(node))
	case p.head.Vector != a.at.agrees[node].Partial:
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s revealed another partial sum than it agreed with",
			protocol.ErrMismatch, a.s.Name(node))
	case !p.signed():
		return protocol.Fail(protocol.ClassIntegrity, "%w: %s sent another partial sum than it signed",
			protocol.ErrMismatch, a.s.Name(node))
	case a.setDigest() != p.head.Set:
		return protocol.Fail(protocol.ClassIntegrity,
			"%w: the nodes agreed to another set than the intersection of their lists", protocol.ErrMismatch)
	}
	return nil
}

// countManifests counts the set's contributions whose manifests are here as the nodes agreed
// on them, from the front up to the first that is missing. Nodes retransmit manifests with
// their partial sums.
func (a *Aggregator) countManifests() {
	for set := a.set(); a.at.present < len(set); a.at.present++ {
		e := set[a.at.present]
		if c, ok := a.at.manifests[e.Party]; !ok || c.bundle != e.Bundle {
			return
		}
	}
}

// summed reports whether every node has revealed the partial sum that it signed, over the
// agreed set, and the manifest of every contribution in it is here for the transcript.
func (a *Aggregator) summed() bool {
	for k := range a.nodes {
		if p := a.at.partials[a.node(k)]; p == nil || !p.checked {
			return false
		}
	}
	return a.at.present == len(a.set())
}
