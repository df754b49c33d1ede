package party

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// settle settles the next round if its result is complete, and reports whether it did. A void
// attempt settles nothing: its update is deleted.
func (p *Party) settle() bool {
	for attempt := uint32(1); attempt <= p.bound.Plan.SpareAttempts+1; attempt++ {
		at := pair{p.settled + 1, attempt}
		r := p.results[at]
		if r == nil || r.head == nil {
			continue
		}
		if len(p.agrees[at]) < p.computes {
			continue // a void is believed as little as a sum: all nodes show it
		}
		if r.head.Outcome == protocol.OutcomeVoid {
			if p.reveals(at) {
				p.refuseVoid(at, r)
			} else {
				p.dropVoid(at)
			}
			continue
		}
		if len(r.opened) == p.bound.Chunks() {
			p.applyResult(at, r)
			return !p.ended
		}
	}
	return false
}

func (p *Party) dropVoid(at pair) {
	if p.own != nil && p.own.pair == at {
		p.own = nil
		p.deleteContribution()
	}
}

// deleteContribution deletes what the contribution is derived from, and Settle's input.
func (p *Party) deleteContribution() {
	for _, key := range []string{"outbox", "head", "memo"} {
		p.eff.Replace(key, nil)
	}
}

// applyResult checks a result against what the nodes signed and what can be recomputed, and
// updates the model and the private state. The private state changes only if this party was
// counted and the sum accepted, and by the clipped integers that the party sent, without the
// noise.
func (p *Party) applyResult(at pair, r *result) {
	aggregate, packed := r.whole(p.bound.Chunks(), p.digestKey(at.round))
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
		p.finish(protocol.Fail(protocol.ClassIntegrity,
			"result of round %d: %w: it counts a contribution that this party did not make",
			at.round, protocol.ErrMismatch))
		return
	}
	if counted && r.head.Outcome == protocol.OutcomeAccepted {
		if p.state, err = p.cfg.App.Settle(at.round, p.state, p.own.memo); err != nil {
			p.finish(fmt.Errorf("round %d: settle: %w", at.round, err))
			return
		}
	}
	p.noteResult(at, r, counted)
	if r.head.Next != aggregate { // the sum is not the next model
		packed = protocol.PackInts(next)
	}
	p.storeRound(at, next, packed, r.head.Next)
}

// dropChunks deletes the chunks of an aggregate that differs from the signed one. Every party
// has the group key and could have sealed one of them, so this does not prove that the
// aggregator lies. This process stops; after a restart the party reads the aggregator's chunks
// from the bus again, with the same outcome or the right one.
func (p *Party) dropChunks(at pair) {
	prefix := fmt.Sprintf("result/%d/%d/", at.round, at.attempt)
	for _, key := range p.store().Keys(prefix) {
		if key != prefix+"head" {
			p.eff.Delete(key)
		}
	}
}

func (p *Party) noteResult(at pair, r *result, counted bool) {
	n := protocol.Notice{
		Code:    protocol.NoteResult,
		Round:   at.round,
		Attempt: at.attempt,
		Count:   len(r.head.Set),
		Total:   p.bound.Plan.Parties(),
		Detail:  r.head.Outcome.String(),
	}
	p.eff.Note(n)
	if !counted {
		n.Code = protocol.NoteUncounted
		p.eff.Note(n)
	}
}

// check returns the model after the round, given the digest of the opened sum.
func (p *Party) check(at pair, r *result, aggregate protocol.Digest) ([]int64, error) {
	set := protocol.SetDigest(p.bound, at.round, at.attempt, r.head.Set)
	for k := range p.computes { // in order, so that a step depends on its event alone
		node := p.compute(k)
		g := p.agrees[at][node]
		switch {
		case g.Set != set || int(g.Count) != len(r.head.Set) || !g.Equal(p.agrees[at][p.compute(0)]):
			return nil, fmt.Errorf("%w: %s signed another set than the result names",
				protocol.ErrMismatch, p.bound.Name(node))
		case len(r.head.Partials) != p.computes || r.head.Partials[k] != g.Partial:
			return nil, fmt.Errorf("%w: the result names another partial sum than %s signed",
				protocol.ErrMismatch, p.bound.Name(node))
		}
	}
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
	context := protocol.Context{
		From:    p.bound.Plan.Aggregator(),
		To:      protocol.Everyone,
		Round:   at.round,
		Attempt: at.attempt,
		Purpose: protocol.PurposeResult,
	}
	blinding, err := p.bound.OpenBlinding(p.groupOf(at.round), context, r.head.Blinding)
	if err != nil {
		return err
	}
	return protocol.CheckTotal(p.cfg.Bases, p.agrees[at][p.compute(0)].Commitments, blinding, r.sum)
}

// reveals reports whether the nodes' agrees, all of which are here, allow a reveal.
func (p *Party) reveals(at pair) bool {
	first := p.agrees[at][p.compute(0)]
	for k := range p.computes {
		if !p.agrees[at][p.compute(k)].Equal(first) {
			return false
		}
	}
	return first.Count >= p.bound.Plan.MinParties
}

// refuseVoid drops a void result that the nodes' agrees contradict: the sum was revealed. What the
// aggregator signed stays on record.
func (p *Party) refuseVoid(at pair, r *result) {
	r.head = nil
	r.noVoid = true
	p.eff.Delete(fmt.Sprintf("result/%d/%d/head", at.round, at.attempt))
	p.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: at.round, Attempt: at.attempt,
		Peer: p.bound.Name(p.bound.Plan.Aggregator()), Detail: protocol.KindResult.String(),
		Err: fmt.Errorf("%w: the attempt is called void, and all nodes signed one set of %d", protocol.ErrMismatch,
			p.agrees[at][p.compute(0)].Count)})
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

// storeRound makes the round settled in one transaction. packed and digest are those of the
// model.
func (p *Party) storeRound(at pair, model []int64, packed []byte, digest protocol.Digest) {
	p.settled = at.round
	p.keys.Advance(at.round + 1)
	p.model = model
	p.modelDigest = digest
	p.own = nil
	p.progress = p.now
	p.eff.Put("settled", binary.BigEndian.AppendUint32(nil, p.settled))
	p.eff.Put("model", packed)
	p.eff.Put("state", p.state)
	p.deleteContribution()
	store := p.store() // it includes what this step stored
	for _, prefix := range []string{"agree", "result"} {
		for _, key := range store.Keys(fmt.Sprintf("%s/%d/", prefix, at.round)) {
			p.eff.Delete(key)
		}
	}
	for old := range p.results {
		if old.round <= p.settled {
			delete(p.results, old)
			delete(p.agrees, old)
		}
	}
	if p.open != nil && p.open.Round <= p.settled {
		p.open = nil
		p.proposing = false
		p.eff.Delete("want")
	}
	if p.settled == p.bound.Plan.Rounds {
		p.eff.Note(protocol.Notice{Code: protocol.NoteCompleted, Round: p.settled})
		p.end(nil)
	}
}
