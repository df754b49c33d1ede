package party

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"choir/crypto/xof"
	"choir/protocol"
)

// result is what is known of how an attempt ended.
type result struct {
	head     *protocol.Result
	digest   protocol.Digest     // of the head
	void     bool                // all nodes have confirmed that the attempt is void
	sum      []int64             // by element; nil before the first chunk is opened
	opened   map[uint32]bool     // by chunk index: whether the chunk is known to be on the signed list
	buffered map[uint32][][]byte // by chunk index: sealed chunks that came before the group key or the head

	packer *protocol.IntPacker // of the chunks that came in order; nil like sum
	packed int                 // how many those are
	strict bool                // a chunk that is not on the list was opened: check the others first
}

// whole returns the sum's digest and packed form, once all chunks are opened.
func (r *result) whole(chunks int, key protocol.DigestKey) (protocol.Digest, []byte) {
	if r.strict || r.packed < chunks { // some chunks came out of order
		r.packer = protocol.NewIntPacker(len(r.sum))
		r.packer.Write(r.sum)
		r.packed = chunks
	}
	return r.packer.End(key)
}

// resultOf is what is known of an attempt. What came of one that is not in p.results yet must be entered
// there, once it is accepted.
func (p *Party) resultOf(at pair) *result {
	if r := p.results[at]; r != nil {
		return r
	}
	return &result{opened: map[uint32]bool{}, buffered: map[uint32][][]byte{}}
}

// confirm stores a node's Confirm. A result is used only with those of all nodes.
func (p *Party) confirm(node uint32, m *protocol.Confirm, data []byte) error {
	at := pair{m.Round, m.Attempt}
	if m.Round <= p.settled && (p.checking == nil || p.checking.pair != at) {
		return protocol.ErrDuplicate
	}
	if err := p.plausible(m.Round, m.Attempt); err != nil {
		return err
	}
	if p.confirms[at] == nil {
		p.confirms[at] = map[uint32]*protocol.Confirm{}
	}
	key := fmt.Sprintf("confirm/%d/%d/%d", m.Round, m.Attempt, node)
	if p.confirms[at][node] != nil {
		if !bytes.Equal(p.store().Get(key), data) {
			return fmt.Errorf("%w: %s confirmed two results", protocol.ErrEquivocate, p.bound.Name(node))
		}
		return protocol.ErrDuplicate
	}
	p.confirms[at][node] = m
	p.eff.Put(key, data)
	return nil
}

func (p *Party) result(m *protocol.Result, data []byte) error {
	if err := p.bound.CheckSet(m.Set); err != nil {
		return err
	}
	if err := p.plausible(m.Round, m.Attempt); err != nil {
		return err
	}
	if m.Outcome != protocol.OutcomeVoid && len(m.Chunks) != p.bound.Chunks() {
		return fmt.Errorf("%w: a result with %d chunks, not %d", protocol.ErrMalformed, len(m.Chunks),
			p.bound.Chunks())
	}
	digest, err := p.prove(m, data)
	if err != nil && !errors.Is(err, protocol.ErrEquivocate) {
		return err
	}
	if m.Round <= p.settled {
		return cmp.Or(err, protocol.ErrDuplicate)
	}
	at := pair{m.Round, m.Attempt}
	r := p.resultOf(at)
	p.results[at] = r
	key := fmt.Sprintf("result/%d/%d/head", m.Round, m.Attempt)
	if r.head != nil && (r.void || r.head.Outcome != protocol.OutcomeVoid || m.Outcome == protocol.OutcomeVoid) {
		return cmp.Or(err, protocol.ErrDuplicate)
	}
	r.head = m // the first result, or one that follows a void that is not confirmed
	r.digest = digest
	p.eff.Put(key, data)
	p.openBuffered(r)
	return err
}

// maxProofs is how many different results of one attempt a party keeps proofs of: two are evidence
// against the aggregator.
const maxProofs = 2

// prove keeps the proof of a result and returns the result's digest, with ErrEquivocate if there is
// a proof of another result.
func (p *Party) prove(m *protocol.Result, data []byte) (protocol.Digest, error) {
	proof, err := protocol.NewResultProof(data)
	if err != nil {
		return protocol.Digest{}, err
	}
	prefix := fmt.Sprintf("proof/%d/%d/", m.Round, m.Attempt)
	key := fmt.Sprintf("%s%x", prefix, proof.Digest[:8])
	others := p.store().Keys(prefix)
	known := slices.Contains(others, key)
	if !known && len(others) < maxProofs {
		stored, err := proof.Marshal()
		if err != nil {
			return proof.Digest, err
		}
		p.eff.Put(key, stored)
	}
	if len(others) > 1 || len(others) == 1 && !known {
		return proof.Digest, fmt.Errorf("%w: another result of round %d attempt %d", protocol.ErrEquivocate,
			m.Round, m.Attempt)
	}
	return proof.Digest, nil
}

// maxAhead is how many rounds after the settled ones a party stores results of. A party that
// was away reads the results that it missed in order.
const maxAhead = 8

// plausible bounds what this party stores: it rejects attempts that are not in the plan, and
// rounds more than maxAhead after the settled ones.
func (p *Party) plausible(round, attempt uint32) error {
	if round > p.bound.Plan.Rounds || attempt > p.bound.Plan.SpareAttempts+1 {
		return fmt.Errorf("%w: round %d attempt %d is not in the plan", protocol.ErrMismatch, round, attempt)
	}
	if round > p.settled+maxAhead {
		return fmt.Errorf("%w: round %d while round %d is not settled", protocol.ErrEarly, round, p.settled+1)
	}
	return nil
}

// chunk accepts a sealed chunk of a round's aggregate.
func (p *Party) chunk(data []byte) error {
	c, err := protocol.ViewChunk(data)
	if err != nil {
		return err
	}
	if c.Purpose != protocol.PurposeResult || c.To != protocol.Everyone || c.From != p.bound.Plan.Aggregator() {
		return fmt.Errorf("%w: a chunk that is not of a result", protocol.ErrUnknown)
	}
	if c.Round <= p.settled {
		return protocol.ErrDuplicate
	}
	if err := p.plausible(c.Round, c.Attempt); err != nil {
		return err
	}
	at := pair{c.Round, c.Attempt}
	r := p.resultOf(at)
	key := fmt.Sprintf("result/%d/%d/%d", c.Round, c.Attempt, c.Index)
	listed, opened := r.opened[c.Index]
	if listed || opened && bytes.Equal(p.store().Get(key), data) {
		return protocol.ErrDuplicate
	}
	if p.group == nil || r.head == nil {
		err = p.bufferChunk(r, c, data)
		key = fmt.Sprintf("%s/%d", key, len(r.buffered[c.Index]))
	} else {
		err = p.openChunk(r, c, opened || r.strict)
		r.strict = r.strict || opened && err == nil
	}
	if err != nil {
		return err
	}
	p.results[at] = r
	p.eff.Put(key, data)
	return nil
}

// maxBuffered is how many chunks a party buffers for one index. Anyone may put chunks on the
// bus; the result tells which one is genuine.
const maxBuffered = 8

// maxResults is how many whole results' chunks a party buffers for all attempts together: those of maxAhead
// rounds, and as many more.
const maxResults = 2 * maxAhead

// buffered is how many chunks wait for the group key or for the result that lists them.
func (p *Party) buffered() (n int) {
	for _, r := range p.results {
		for _, same := range r.buffered {
			n += len(same)
		}
	}
	return n
}

// bufferChunk keeps a chunk that came before the group key or the signed list of chunks.
func (p *Party) bufferChunk(r *result, c *protocol.Chunk, data []byte) error {
	if p.group != nil { // then not the same for all: it must open
		if _, err := p.bound.OpenChunk(p.groupOf(c.Round), c); err != nil {
			return err
		}
	}
	same := r.buffered[c.Index]
	if slices.ContainsFunc(same, func(b []byte) bool { return bytes.Equal(b, data) }) {
		return protocol.ErrDuplicate
	}
	if int(c.Index) >= p.bound.Chunks() || len(same) == maxBuffered ||
		p.early >= maxResults*p.bound.Chunks() {
		return fmt.Errorf("%w: a chunk before the result that lists it", protocol.ErrEarly)
	}
	r.buffered[c.Index] = append(same, data)
	p.early++
	return nil
}

// openChunk opens a chunk into the sum. The memory for the sum is allocated with the first
// chunk that opens, so a forged chunk cannot make the party allocate it. Without check the chunk's
// digest is not compared: it is if another chunk of the same index comes, or if the sum is not the
// one whose digest was signed (see dropForged).
func (p *Party) openChunk(r *result, c *protocol.Chunk, check bool) error {
	if int(c.Index) >= len(r.head.Chunks) || check && !p.listed(r, c) {
		return fmt.Errorf("%w: chunk %d is not the one that the aggregator signed", protocol.ErrMismatch, c.Index)
	}
	if p.scratch == nil {
		p.scratch = make([]byte, 0, 8*p.bound.ChunkLen(0))
	}
	plain, err := p.bound.OpenChunkTo(p.scratch, p.groupOf(c.Round), c)
	if err != nil {
		return err
	}
	if r.sum == nil {
		for at, other := range p.results {
			if at.round == c.Round && other != r && other.sum != nil {
				return fmt.Errorf("%w: chunks of two attempts of round %d", protocol.ErrEquivocate, c.Round)
			}
		}
		if p.spare == nil {
			p.spare = make([]int64, p.bound.Plan.Elements())
		}
		r.sum = p.spare[:p.bound.Plan.Elements()]
		p.spare = nil
		r.packer = protocol.NewIntPacker(len(r.sum))
	}
	ints := r.sum[int(c.Index)*xof.ChunkElements:][:len(plain)/8]
	protocol.DecodeInts(ints, plain)
	r.opened[c.Index] = check
	if int(c.Index) == r.packed {
		r.packer.Write(ints)
		r.packed++
	}
	return nil
}

// listed reports whether the signed list has a chunk's digest. The list has the chunk's index.
func (p *Party) listed(r *result, c *protocol.Chunk) bool {
	return p.hash.Digest(c.Ciphertext) == r.head.Chunks[c.Index]
}

// dropForged drops the chunks that were opened and are not on the signed list, if the sum is not the
// one whose digest was signed. It reports whether it dropped any.
func (p *Party) dropForged(at pair, r *result) (dropped bool) {
	if digest, _ := r.whole(p.bound.Chunks(), p.digestKey(at.round)); digest == r.head.Aggregate {
		return false
	}
	for index := range uint32(len(r.head.Chunks)) {
		if r.opened[index] {
			continue
		}
		key := fmt.Sprintf("result/%d/%d/%d", at.round, at.attempt, index)
		if c, err := protocol.ViewChunk(p.store().Get(key)); err == nil && p.listed(r, c) {
			r.opened[index] = true
			continue
		}
		delete(r.opened, index)
		p.eff.Delete(key)
		p.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: at.round, Attempt: at.attempt,
			Peer: p.bound.Name(p.bound.Plan.Aggregator()), Detail: protocol.KindResult.String(),
			Err: fmt.Errorf("%w: chunk %d is not the one that the aggregator signed", protocol.ErrMismatch, index)})
		dropped = true
	}
	r.strict = r.strict || dropped
	return dropped
}

// openBuffered opens the chunks that came before the group key or the head. Those that the head
// does not list are dropped: they are not evidence against the aggregator, since anyone can have
// sent them.
func (p *Party) openBuffered(r *result) {
	if p.group == nil {
		return
	}
	defer func() { p.early = p.buffered() }()
	if r.head == nil {
		p.dropUnopenable(r)
		return
	}
	for _, buffered := range r.buffered {
		for _, data := range buffered {
			if c, err := protocol.ViewChunk(data); err == nil && p.openChunk(r, c, true) == nil {
				break
			}
		}
	}
	clear(r.buffered)
}

// dropUnopenable drops buffered chunks that the group key, which has come, does not open: only its holders
// take room from then on.
func (p *Party) dropUnopenable(r *result) {
	for index, same := range r.buffered {
		r.buffered[index] = slices.DeleteFunc(same, func(data []byte) bool {
			c, err := protocol.ViewChunk(data)
			if err == nil {
				_, err = p.bound.OpenChunk(p.groupOf(c.Round), c)
			}
			return err != nil
		})
	}
}
