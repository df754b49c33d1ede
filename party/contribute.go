package party

import (
	"encoding/binary"
	"fmt"

	"choir/protocol"
)

// openRound accepts an attempt that the aggregator opened. If earlier rounds are not settled
// yet, the attempt waits for them.
func (p *Party) openRound(m *protocol.Round, data []byte) error {
	plan, at := p.bound.Plan, pair{m.Round, m.Attempt}
	switch {
	case m.Round > plan.Rounds:
		return fmt.Errorf("%w: round %d of %d", protocol.ErrMismatch, m.Round, plan.Rounds)
	case m.Attempt > plan.SpareAttempts+1:
		return fmt.Errorf("%w: attempt %d, the plan allows %d", protocol.ErrMismatch, m.Attempt,
			plan.SpareAttempts+1)
	case m.Round <= p.settled:
		return protocol.ErrDuplicate
	case !at.after(p.latest) || p.results[at] != nil && p.results[at].void:
		return protocol.ErrDuplicate
	case p.open != nil && !at.after(pair{p.open.Round, p.open.Attempt}):
		return protocol.ErrDuplicate
	case plan.Expired(p.now):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrExpired, m.Round, m.Attempt)
	}
	p.eff.Put("want", data)
	p.open = m
	p.proposing = false
	p.computed = nil
	p.progress = p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: m.Round, Attempt: m.Attempt,
		Total: int(plan.Rounds)})
	return nil
}

// propose asks the driver for the update of the open attempt, after checking that the attempt
// is on this party's model and that the budget allows it.
func (p *Party) propose() {
	m := p.open
	if m.Model != p.modelDigest {
		p.finish(protocol.Fail(protocol.ClassIntegrity,
			"round %d: %w: the aggregator opened it on another model than the results lead to",
			m.Round, protocol.ErrMismatch))
		return
	}
	if m.Last != p.lastResult {
		p.finish(protocol.Fail(protocol.ClassIntegrity,
			"round %d: %w: the aggregator opened it after another result than this party has",
			m.Round, protocol.ErrMismatch))
		return
	}
	if _, _, err := p.cfg.Ledger.Charge(m.Round, m.Attempt); err != nil {
		p.finish(err)
		return
	}
	p.proposing = true
	p.eff.Propose = &protocol.Work{Round: m.Round, Attempt: m.Attempt, Model: p.model, State: p.state,
		Opened: p.opened}
}

// proposal turns the computed update into a contribution. It ignores an update that was not
// asked for or whose attempt is over.
func (p *Party) proposal(e protocol.Proposal) {
	if p.open == nil || !p.proposing || e.Round != p.open.Round || e.Attempt != p.open.Attempt ||
		e.Round != p.settled+1 {
		return
	}
	if e.Err != nil {
		p.finish(fmt.Errorf("round %d: update: %w", e.Round, e.Err))
		return
	}
	if !p.maySend() {
		p.computed = &e
		return
	}
	outbox, err := p.packUpdate(e.Update)
	if err != nil {
		p.finish(err)
		return
	}
	if err := p.contribute(e, outbox); err != nil {
		p.finish(fmt.Errorf("round %d: contribution: %w", e.Round, err))
	}
}

// maySend reports whether a contribution may be sent: all nodes have confirmed the last result, and
// that the round's attempt before is void, and the channels are those that they have in this round. So
// no update leaves that was computed on a model that is not the nodes', what a contribution is derived
// from is there until nothing can count it, and each node can open its share of it.
func (p *Party) maySend() bool {
	return p.checking == nil && (p.own == nil || p.own.round != p.open.Round) && p.linked()
}

// packUpdate packs an update and enforces the plan's bound on it: an update beyond the bound
// would break the sensitivity that all members signed.
func (p *Party) packUpdate(update []int64) (outbox []byte, err error) {
	plan := p.bound.Plan
	if len(update) != int(plan.Dim) {
		return nil, protocol.Fail(protocol.ClassInput, "update: %d coordinates, the plan has %d", len(update),
			plan.Dim)
	}
	outbox, within := packOutbox(update, plan.PerParty)
	if !within {
		return nil, protocol.Fail(protocol.ClassInput,
			"update: its L2 norm is beyond the plan's bound of %d grid units for one party", plan.PerParty)
	}
	return outbox, nil
}

// contribute starts a contribution. The charge, the noise seed and the update become durable
// in one transaction; all that is sent follows from them.
func (p *Party) contribute(e protocol.Proposal, outbox []byte) error {
	entry, seq, err := p.cfg.Ledger.Charge(e.Round, e.Attempt)
	if err != nil {
		return err
	}
	d, err := p.takeNoise()
	if err != nil {
		return err
	}
	if err := p.cfg.Ledger.Append(entry); err != nil {
		return err
	}
	if entry != nil {
		p.eff.Put(fmt.Sprintf("ledger/%08d", seq), entry)
	}
	own := &contribution{pair: pair{e.Round, e.Attempt}, memo: e.Memo, receipts: map[uint32]bool{}}
	p.persist(own, outbox, d)
	p.own = own
	p.latest = own.pair
	p.open = nil
	p.proposing = false
	p.progress = p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteContributed, Round: e.Round, Attempt: e.Attempt})
	_, update, err := unmarshalOutbox(outbox, int(p.bound.Plan.Dim))
	if err != nil {
		return err
	}
	return p.startSending(update, d)
}

// persist stores what the contribution is derived from.
func (p *Party) persist(own *contribution, outbox []byte, d *drawn) {
	completeOutbox(outbox, d.seed)
	attempt := binary.BigEndian.AppendUint32(nil, own.round)
	p.eff.Put("attempt", binary.BigEndian.AppendUint32(attempt, own.attempt))
	p.eff.Put("outbox", outbox)
	p.eff.Put("memo", own.memo)
	p.eff.Delete("want")
	p.eff.Delete("head") // of the attempt before, if that was void
}

// ownContribution checks a contribution of this party that the bus delivers. One to an attempt
// that the store knows nothing of shows that the store was rolled back: this party would noise
// the same update twice.
func (p *Party) ownContribution(from uint32, m *protocol.Contribution) error {
	if from != p.self {
		return fmt.Errorf("%w: another party's contribution", protocol.ErrUnknown)
	}
	at := pair{m.Round, m.Attempt}
	if !at.after(p.latest) && (p.own == nil || at != p.own.pair || p.own.manifest == nil) {
		return protocol.ErrDuplicate // settled, or signed again from what is stored
	}
	bundle, err := m.BundleDigest(p.bound, p.self)
	if err != nil || !at.after(p.latest) && bundle == p.own.bundle {
		return err
	}
	p.finish(protocol.Fail(protocol.ClassIntegrity, "%w: this party contributed to round %d attempt %d "+
		"what its store does not have: the store was rolled back, or another process has this identity",
		protocol.ErrMismatch, m.Round, m.Attempt))
	return nil
}

// receipt stores a node's receipt for good.
func (p *Party) receipt(node uint32, m *protocol.Receipt, data []byte) error {
	own := p.own
	if m.Party != p.self || own == nil || own.pair != (pair{m.Round, m.Attempt}) {
		return protocol.ErrDuplicate
	}
	if own.manifest == nil || m.Bundle != own.bundle {
		return fmt.Errorf("%w: %s gave a receipt for another contribution", protocol.ErrMismatch,
			p.bound.Name(node))
	}
	if own.receipts[node] {
		return protocol.ErrDuplicate
	}
	own.receipts[node] = true
	own.manifestSent = false
	p.progress = p.now
	p.eff.Put(fmt.Sprintf("receipt/%d/%d/%d", m.Round, m.Attempt, node), data)
	if !p.waiting() { // it will not be sent again: delete the seed and the update
		own.out = nil
		own.final = true
		p.eff.Replace("outbox", nil)
	}
	p.eff.Note(protocol.Notice{
		Code:    protocol.NoteReceipt,
		Round:   m.Round,
		Attempt: m.Attempt,
		Peer:    p.bound.Name(node),
		Count:   len(own.receipts),
		Total:   p.computes,
	})
	return nil
}
