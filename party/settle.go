package party

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"choir/crypto/xof"
	"choir/protocol"
)

// result is what is known of how an attempt ended.
type result struct {
	head   *protocol.Result
	sum    []int64             // by element; nil before a chunk has opened
	chunks map[uint32][][]byte // sealed, what came for each place; opened once the group key is here
	opened map[uint32]bool
	packer *protocol.IntPacker // of the chunks that came in order, from the first one on, as they came; nil like sum
	packed int                 // how many
}

// whole is the sum's digest and its packed form, once all chunks are here.
func (r *result) whole(chunks int) (protocol.Digest, []byte) {
	if r.packed < chunks { // they came in another order
		r.packer, r.packed = protocol.NewIntPacker(len(r.sum)), chunks
		r.packer.Write(r.sum)
	}
	return r.packer.End()
}

func (p *Party) resultOf(at pair) *result {
	r := p.results[at]
	if r == nil {
		r = &result{chunks: map[uint32][][]byte{}, opened: map[uint32]bool{}}
		p.results[at] = r
	}
	return r
}

// agree keeps a node's signature on a set: the party believes a result only
// when every node signed the set that it names.
func (p *Party) agree(node uint32, m *protocol.Agree, data []byte) error {
	if m.Round <= p.settled {
		return errDuplicate
	}
	if err := p.plausible(m.Round, m.Attempt); err != nil {
		return err
	}
	at := pair{m.Round, m.Attempt}
	if p.agrees[at] == nil {
		p.agrees[at] = map[uint32]*protocol.Agree{}
	}
	if have := p.agrees[at][node]; have != nil {
		if *have != *m {
			return fmt.Errorf("%w: %s agreed to two sets", protocol.ErrEquivocate, p.bound.Name(node))
		}
		return errDuplicate
	}
	p.agrees[at][node] = m
	p.eff.Put(fmt.Sprintf("agree/%d/%d/%d", m.Round, m.Attempt, node), data)
	return nil
}

func (p *Party) result(m *protocol.Result, data []byte) error {
	if m.Round <= p.settled {
		return errDuplicate
	}
	if err := p.bound.CheckSet(m.Set); err != nil {
		return err
	}
	if err := p.plausible(m.Round, m.Attempt); err != nil {
		return err
	}
	r, key := p.resultOf(pair{m.Round, m.Attempt}), fmt.Sprintf("result/%d/%d/head", m.Round, m.Attempt)
	if r.head != nil {
		have := protocol.StepView{View: p.view, Step: p.eff}.Get(key)
		if !bytes.Equal(have, data) {
			return fmt.Errorf("%w: another result of round %d attempt %d", protocol.ErrEquivocate, m.Round, m.Attempt)
		}
		return errDuplicate
	}
	r.head = m
	p.eff.Put(key, data)
	return nil
}

// plausible bounds what this party keeps: attempts that the plan knows, and no
// more of them at a time than a party that was away can have missed and read
// back in order.
func (p *Party) plausible(round, number uint32) error {
	if round > p.bound.Plan.Rounds || number > p.bound.Plan.SpareAttempts+1 {
		return fmt.Errorf("%w: round %d attempt %d isn't in the plan", protocol.ErrMismatch, round, number)
	}
	if round > p.settled+maxAhead {
		return fmt.Errorf("%w: round %d while round %d isn't settled", protocol.ErrEarly, round, p.settled+1)
	}
	return nil
}

// maxAhead is how many rounds a party keeps results of before it has settled
// the first of them.
const maxAhead = 8

// chunk takes in a sealed piece of a round's aggregate.
func (p *Party) chunk(data []byte) error {
	c, err := protocol.ViewChunk(data)
	if err != nil {
		return err
	}
	if c.Purpose != protocol.PurposeResult || c.To != protocol.Everyone || c.From != p.bound.Plan.Aggregator() {
		return fmt.Errorf("%w: a chunk that isn't a result", protocol.ErrUnknown)
	}
	if c.Round <= p.settled {
		return errDuplicate
	}
	if err := p.plausible(c.Round, c.Attempt); err != nil {
		return err
	}
	r := p.resultOf(pair{c.Round, c.Attempt})
	if r.opened[c.Index] {
		return errDuplicate
	}
	key := fmt.Sprintf("result/%d/%d/%d", c.Round, c.Attempt, c.Index)
	if p.group == nil {
		err := p.bufferChunk(r, c, data)
		key = fmt.Sprintf("%s/%d", key, len(r.chunks[c.Index]))
		if err != nil {
			return err
		}
	} else if err := p.openChunk(r, c); err != nil {
		return err
	}
	p.eff.Put(key, data)
	return nil
}

// maxBuffered is how many chunks a party keeps for one place before it has the
// key that tells the genuine one: anybody may have put the others on the bus.
const maxBuffered = 8

// bufferChunk keeps a chunk that came before the group key.
func (p *Party) bufferChunk(r *result, c *protocol.Chunk, data []byte) error {
	have := r.chunks[c.Index]
	if slices.ContainsFunc(have, func(b []byte) bool { return bytes.Equal(b, data) }) {
		return errDuplicate
	}
	if int(c.Index) >= p.bound.Chunks() || len(have) == maxBuffered {
		return fmt.Errorf("%w: a result before the group key", protocol.ErrEarly)
	}
	r.chunks[c.Index] = append(have, data)
	return nil
}

// openChunk takes a chunk into the sum, for which there is room once one has opened: what
// doesn't open costs no memory.
func (p *Party) openChunk(r *result, c *protocol.Chunk) error {
	if p.scratch == nil {
		p.scratch = make([]byte, 0, 8*p.bound.ChunkLen(0))
	}
	plain, err := p.bound.OpenChunkTo(p.scratch, p.group, c)
	if err != nil {
		return err
	}
	if r.sum == nil {
		if p.spare == nil {
			p.spare = make([]int64, p.bound.Plan.Elements())
		}
		r.sum, p.spare = p.spare[:p.bound.Plan.Elements()], nil
		r.packer = protocol.NewIntPacker(len(r.sum))
	}
	ints := r.sum[int(c.Index)*xof.ChunkElements:][:len(plain)/8]
	protocol.DecodeInts(ints, plain)
	r.opened[c.Index] = true
	if int(c.Index) == r.packed {
		r.packer.Write(ints)
		r.packed++
	}
	return nil
}

// openBuffered opens what came before the group key did, and drops what doesn't
// open: it isn't the aggregator's, who is not to blame for it.
func (p *Party) openBuffered() {
	for _, r := range p.results {
		for _, shelved := range r.chunks {
			for _, data := range shelved {
				if c, err := protocol.ViewChunk(data); err == nil && p.openChunk(r, c) == nil {
					break
				}
			}
		}
		clear(r.chunks)
	}
}

// settle takes the next round's result in, if all of it is here, and reports
// whether it did. A void attempt settles nothing: its update is dropped.
func (p *Party) settle() bool {
	for number := uint32(1); number <= p.bound.Plan.SpareAttempts+1; number++ {
		at := pair{p.settled + 1, number}
		r := p.results[at]
		if r == nil || r.head == nil {
			continue
		}
		if r.head.Outcome == protocol.OutcomeVoid {
			p.dropVoid(at)
			continue
		}
		if len(r.opened) == p.bound.Chunks() && len(p.agrees[at]) == p.computes {
			p.applyResult(at, r)
			return !p.ended
		}
	}
	return false
}

func (p *Party) dropVoid(at pair) {
	if p.own != nil && p.own.pair == at {
		p.own = nil
		p.forget()
	}
}

// forget deletes what the contribution that was out was made from, and what settling it
// needed.
func (p *Party) forget() {
	for _, key := range []string{"outbox", "head", "memo"} {
		p.eff.Delete(key)
	}
}

// applyResult checks a result against what the nodes signed and what anybody can
// recompute, and moves the model and the private state. The private state
// takes in exactly the clipped integers that were sent, without the noise, and
// only when this party was counted and the sum accepted (DESIGN decision 10).
func (p *Party) applyResult(at pair, r *result) {
	aggregate, packed := r.whole(p.bound.Chunks())
	next, err := p.check(at, r, aggregate)
	if err != nil {
		if aggregate != r.head.Aggregate {
			p.dropChunks(at)
		}
		p.finish(protocol.Fail(protocol.ClassIntegrity, "result of round %d: %w", at.round, err))
		return
	}
	entry, in := protocol.Find(r.head.Set, p.self)
	counted := in && p.own != nil && p.own.pair == at && entry.Bundle == p.own.bundle
	if in && !counted {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "result of round %d: %w: it counts a contribution that this party didn't make", at.round, protocol.ErrMismatch))
		return
	}
	if counted && r.head.Outcome == protocol.OutcomeAccepted {
		if p.state, err = p.cfg.App.Settle(at.round, p.state, p.own.memo); err != nil {
			p.finish(fmt.Errorf("round %d: settle: %w", at.round, err))
			return
		}
	}
	p.noteResult(at, r, counted)
	if r.head.Next != aggregate { // the sum isn't the model
		packed = protocol.PackInts(next)
	}
	p.storeRound(at, next, packed, r.head.Next)
}

// dropChunks forgets the chunks of an aggregate that isn't the one that was signed. Whoever has
// the group key, which is every party, can have sealed one of them: that the aggregator
// lies is not proven. This process stops; the next one takes in what the aggregator says
// again, and finds the same or the right one.
func (p *Party) dropChunks(at pair) {
	prefix := fmt.Sprintf("result/%d/%d/", at.round, at.attempt)
	for _, key := range (protocol.StepView{View: p.view, Step: p.eff}).Keys(prefix) {
		if key != prefix+"head" {
			p.eff.Delete(key)
		}
	}
}

func (p *Party) noteResult(at pair, r *result, counted bool) {
	n := protocol.Notice{Code: protocol.NoteResult, Round: at.round, Attempt: at.attempt, Count: len(r.head.Set), Total: p.bound.Plan.Parties(), Detail: r.head.Outcome.String()}
	p.eff.Note(n)
	if !counted {
		n.Code = protocol.NoteUncounted
		p.eff.Note(n)
	}
}

// check returns the model after the round, given the digest of the sum that came.
func (p *Party) check(at pair, r *result, aggregate protocol.Digest) ([]int64, error) {
	set := protocol.SetDigest(p.bound, at.round, at.attempt, r.head.Set)
	for k := range p.computes { // in order: a step is a function of its event
		node := p.compute(k)
		if g := p.agrees[at][node]; g.Set != set || int(g.Count) != len(r.head.Set) {
			return nil, fmt.Errorf("%w: %s signed another set than the result names", protocol.ErrMismatch, p.bound.Name(node))
		}
	}
	switch {
	case len(r.head.Set) < int(p.bound.Plan.MinParties):
		return nil, fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, len(r.head.Set), p.bound.Plan.MinParties)
	case aggregate != r.head.Aggregate:
		return nil, fmt.Errorf("%w: the aggregate isn't the one that was signed", protocol.ErrMismatch)
	}
	next, foldErr := p.fold(at.round, r.sum)
	if (foldErr == nil) != (r.head.Outcome == protocol.OutcomeAccepted) {
		return nil, fmt.Errorf("%w: the aggregator says %s, recomputing says otherwise", protocol.ErrMismatch, r.head.Outcome)
	}
	if protocol.ReuseIntDigest(r.head.Aggregate, r.sum, next) != r.head.Next {
		return nil, fmt.Errorf("%w: the aggregate doesn't lead to the model that the aggregator announced", protocol.ErrMismatch)
	}
	return next, nil
}

// fold is the model after the round, the old one when the sum is rejected.
func (p *Party) fold(round uint32, sum []int64) ([]int64, error) {
	coordinates, err := p.bound.Plan.OpenSum(sum, p.maxSum)
	if err != nil {
		return p.model, err
	}
	next, err := p.cfg.App.Fold(round, p.model, coordinates)
	if err != nil {
		return p.model, err
	}
	return next, nil
}

// storeRound makes the round settled, all of it in one transaction. The model comes with its packed
// form and its digest.
func (p *Party) storeRound(at pair, next []int64, packed []byte, digest protocol.Digest) {
	p.settled, p.model, p.modelDigest, p.own, p.progress = at.round, next, digest, nil, p.now
	p.eff.Put("settled", binary.BigEndian.AppendUint32(nil, p.settled))
	p.eff.Put("model", packed)
	p.eff.Put("state", p.state)
	p.forget()
	memory := protocol.StepView{View: p.view, Step: p.eff} // what this step took in goes as well
	for _, prefix := range []string{"agree", "result"} {
		for _, key := range memory.Keys(fmt.Sprintf("%s/%d/", prefix, at.round)) {
			p.eff.Delete(key)
		}
	}
	for have := range p.results {
		if have.round <= p.settled {
			delete(p.results, have)
			delete(p.agrees, have)
		}
	}
	if p.open != nil && p.open.Round <= p.settled {
		p.open, p.proposing = nil, false
		p.eff.Delete("want")
	}
	if p.settled == p.bound.Plan.Rounds {
		p.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: p.settled})
		p.end(nil)
	}
}
