package party

import (
	"encoding/binary"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/protocol"
)

// settle adopts the next round's result if that is complete, and settles the round when all nodes
// have confirmed the result. It reports whether it settled one. A void attempt settles nothing:
// its update is deleted.
func (p *Party) settle() bool {
	if p.checking != nil {
		return p.settleChecked()
	}
	for attempt := uint32(1); attempt <= p.bound.Plan.SpareAttempts+1; attempt++ {
		at := pair{p.settled + 1, attempt}
		r := p.results[at]
		if r == nil || r.head == nil {
			continue
		}
		if r.head.Outcome == protocol.OutcomeVoid {
			p.settleVoid(at, r)
			continue
		}
		if len(r.opened) == p.bound.Chunks() && !p.dropForged(at, r) {
			p.applyResult(at, r)
			return !p.ended
		}
	}
	return false
}

// settleVoid believes a void result that all nodes have confirmed: none of them will reveal in the
// attempt. What a node confirms otherwise is what counts, and the void stays on record.
func (p *Party) settleVoid(at pair, r *result) {
	if r.void || len(p.confirms[at]) < p.computes {
		return
	}
	for k := range p.computes {
		if p.confirms[at][p.compute(k)].Result == r.digest {
			continue
		}
		r.head = nil
		p.eff.Delete(fmt.Sprintf("result/%d/%d/head", at.round, at.attempt))
		p.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: at.round, Attempt: at.attempt,
			Detail: protocol.KindResult.String(), // one of the two lies: there is no peer to name
			Err: fmt.Errorf("%w: %s calls the attempt void, and %s confirmed another result: one of the two lies",
				protocol.ErrMismatch, p.bound.Name(p.bound.Plan.Aggregator()), p.bound.Name(p.compute(k)))})
		return
	}
	r.void = true
	if p.open != nil && at == (pair{p.open.Round, p.open.Attempt}) {
		p.closeAttempt()
	}
	if p.own != nil && p.own.pair == at {
		p.own = nil
		p.deleteContribution()
	}
}

// checking is a result that this party has recomputed, and works with, but that not all nodes have
// confirmed. Nothing that follows from it is stored or sent.
type checking struct {
	pair
	result  *protocol.Result
	digest  protocol.Digest
	want    protocol.Value // what the Confirms' values must add up to
	counted bool
	packed  []byte            // the model
	opened  []protocol.Opened // of this round, or none

	settled uint32 // what is to be restored if the result is false
	model   []int64
	state   []byte
}

// settleChecked settles the round when all nodes have confirmed its result, and reports whether it did.
func (p *Party) settleChecked() bool {
	c := p.checking
	var values []protocol.Value
	for k := range p.computes {
		m := p.confirms[c.pair][p.compute(k)]
		if m == nil {
			continue
		}
		if m.Result != c.digest {
			p.disown(fmt.Errorf("%w: %s confirmed another result than this party got", protocol.ErrMismatch,
				p.bound.Name(p.compute(k))))
			return false
		}
		values = append(values, m.Value)
	}
	switch {
	case len(values) < p.computes:
		return false
	case protocol.AddValues(values) != c.want:
		p.disown(fmt.Errorf("%w: the aggregate is not the sum of the partial sums that the nodes confirmed",
			protocol.ErrMismatch))
		return false
	}
	p.checking = nil
	p.noteKeys(p.confirms[c.pair])
	delete(p.confirms, c.pair)
	p.noteResult(c.pair, c.result, c.counted)
	p.storeRound(c)
	return !p.ended
}

// disown goes back to the model and the state before a false result, and stops.
func (p *Party) disown(err error) {
	c := p.checking
	p.settled, p.model, p.state = c.settled, c.model, c.state
	p.opened = p.opened[:len(p.opened)-len(c.opened)]
	p.checking = nil
	p.finish(protocol.Fail(protocol.ClassIntegrity, "result of round %d: %w", c.round, err))
}

// deleteContribution deletes what the contribution is derived from, and Settle's input.
func (p *Party) deleteContribution() {
	for _, key := range []string{"outbox", "head", "memo"} {
		p.eff.Replace(key, nil)
	}
}

// applyResult checks a result against what can be recomputed, and updates the model and the private
// state. The private state changes only if this party was counted and the sum accepted, and by the
// clipped integers that the party sent, without the noise.
func (p *Party) applyResult(at pair, r *result) {
	aggregate, packed := r.whole(p.bound.Chunks(), p.digestKey(at.round))
	c := &checking{
		pair: at, result: r.head, digest: r.digest, settled: p.settled, model: p.model, state: p.state,
	}
	next, err := p.check(at, r, aggregate)
	if err == nil && p.cfg.KeepSums && r.head.Outcome == protocol.OutcomeAccepted {
		c.opened, err = p.keep(at, r)
	}
	if err == nil {
		group := p.groupOf(at.round)
		context := p.bound.ResultContext(group, r.head)
		c.want, err = p.bound.Expected(group, context, r.head.Trace, r.digest, r.sum)
	}
	entry, in := protocol.Find(r.head.Set, p.self)
	c.counted = in && p.own != nil && p.own.pair == at && entry.Bundle == p.own.bundle
	if err == nil && in && !c.counted {
		err = fmt.Errorf("%w: it counts a contribution that this party did not make", protocol.ErrMismatch)
	}
	if err != nil {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "result of round %d: %w", at.round, err))
		return
	}
	if c.counted && r.head.Outcome == protocol.OutcomeAccepted {
		if p.state, err = p.cfg.App.Settle(at.round, p.state, p.own.memo); err != nil {
			p.finish(fmt.Errorf("round %d: settle: %w", at.round, err))
			return
		}
	}
	if r.head.Next != aggregate { // the sum is not the next model
		packed = protocol.PackInts(next)
	}
	c.packed = packed
	p.adopt(c, next)
}

// adopt makes a result the one that this party works with.
func (p *Party) adopt(c *checking, model []int64) {
	p.checking = c
	p.settled = c.round
	p.model = model
	p.opened = append(p.opened, c.opened...)
	p.modelDigest = c.result.Next
	p.lastResult = c.digest
	p.own = nil
	p.progress = p.now
	for old := range p.results {
		if old.round <= p.settled {
			delete(p.results, old)
		}
	}
	p.early = p.buffered()
	for old := range p.confirms {
		if old.round <= p.settled && old != c.pair {
			delete(p.confirms, old)
		}
	}
	if p.open != nil && p.open.Round <= p.settled {
		p.closeAttempt()
	}
}

// closeAttempt ends what this party does for the open attempt.
func (p *Party) closeAttempt() {
	p.open = nil
	p.proposing = false
	p.computed = nil
}

func (p *Party) noteResult(at pair, r *protocol.Result, counted bool) {
	n := protocol.Notice{
		Code:    protocol.NoteResult,
		Round:   at.round,
		Attempt: at.attempt,
		Count:   len(r.Set),
		Total:   p.bound.Plan.Parties(),
		Detail:  r.Outcome.String(),
	}
	p.eff.Note(n)
	if !counted {
		n.Code = protocol.NoteUncounted
		p.eff.Note(n)
	}
}

// check returns the model after the round, given the digest of the opened sum.
func (p *Party) check(at pair, r *result, aggregate protocol.Digest) ([]int64, error) {
	switch {
	case len(r.head.Set) < int(p.bound.Plan.MinParties):
		return nil, fmt.Errorf("%w: %d of %d", protocol.ErrSmallSet, len(r.head.Set), p.bound.Plan.MinParties)
	case aggregate != r.head.Aggregate:
		return nil, fmt.Errorf("%w: the aggregate is not the one that was signed", protocol.ErrMismatch)
	}
	if err := p.audit(at, r); err != nil {
		return nil, err
	}
	next, foldErr := p.fold(at.round, r.sum)
	if (foldErr == nil) != (r.head.Outcome == protocol.OutcomeAccepted) {
		return nil, fmt.Errorf("%w: the aggregator's outcome is %s, recomputing gives another",
			protocol.ErrMismatch, r.head.Outcome)
	}
	if protocol.ReuseIntDigest(p.digestKey(at.round), r.head.Aggregate, r.sum, next) != r.head.Next {
		return nil, fmt.Errorf("%w: the aggregate does not lead to the model that the aggregator announced",
			protocol.ErrMismatch)
	}
	return next, nil
}

// audit checks that the sum of the set's commitments, which every node signed, opens to the sum.
func (p *Party) audit(at pair, r *result) error {
	if !p.bound.Plan.Audit {
		return nil
	}
	group := p.groupOf(at.round)
	blinding, err := p.bound.OpenBlinding(group, p.bound.ResultContext(group, r.head), r.head.Blinding)
	if err != nil {
		return err
	}
	return protocol.CheckTotal(p.cfg.Bases, r.head.Commitments, blinding, r.sum)
}

// groupOf returns the group key in a round, nil if there is none or the round is over.
func (p *Party) groupOf(round uint32) *channel.Secret { return p.keys.Secret(protocol.Everyone, round) }

// digestKey returns the key of the digests of a round, at the earliest the last one settled. There must
// be a group key.
func (p *Party) digestKey(round uint32) protocol.DigestKey {
	return protocol.KeyOfDigests(p.keys.Secret(protocol.Digests, round+1))
}

// setModelDigest sets the digest of the model after the settled rounds, if there is a group key.
func (p *Party) setModelDigest() {
	if p.group != nil {
		p.modelDigest = protocol.IntDigest(p.digestKey(p.settled), p.model)
	}
}

// fold returns the model after the round, or the model before it with an error if the sum is
// rejected.
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

// keep returns the accepted sum of a round, in its own memory.
func (p *Party) keep(at pair, r *result) ([]protocol.Opened, error) {
	sum, err := p.bound.Plan.OpenSum(r.sum, p.maxSum)
	return []protocol.Opened{{Round: at.round, Counted: len(r.head.Set), Set: protocol.Parties(r.head.Set),
		Before: p.model, Sum: slices.Clone(sum)}}, err
}

// storeRound makes the round settled in one transaction.
func (p *Party) storeRound(c *checking) {
	p.progress = p.now
	p.keys.Advance(c.round + 1)
	p.eff.Put("settled", binary.BigEndian.AppendUint32(nil, p.settled))
	p.eff.Put("last", c.digest[:])
	p.eff.Put("model", c.packed)
	p.eff.Put("state", p.state)
	for _, o := range c.opened {
		p.eff.Persist = append(p.eff.Persist, o.Record())
	}
	p.deleteContribution()
	store := p.store() // it includes what this step stored
	for _, prefix := range []string{"confirm", "result"} {
		for _, key := range store.Keys(fmt.Sprintf("%s/%d/", prefix, c.round)) {
			p.eff.Delete(key)
		}
	}
	if p.open == nil {
		p.eff.Delete("want")
	}
	if p.settled == p.bound.Plan.Rounds {
		p.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: p.settled})
		p.end(nil)
	}
}
