package party

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/noise"
	"choir/protocol"
)

// openRound takes in an attempt that the aggregator openRound. One that this party
// can't serve yet (it has rounds to settle first) is remembered.
func (p *Party) openRound(m *protocol.Round, data []byte) error {
	at := pair{m.Round, m.Attempt}
	switch {
	case m.Round > p.bound.Plan.Rounds:
		return fmt.Errorf("%w: round %d of %d", protocol.ErrMismatch, m.Round, p.bound.Plan.Rounds)
	case m.Attempt > p.bound.Plan.SpareAttempts+1:
		return fmt.Errorf("%w: attempt %d, the plan allows %d", protocol.ErrMismatch, m.Attempt, p.bound.Plan.SpareAttempts+1)
	case m.Round <= p.settled:
		return errDuplicate
	case !at.after(p.latest):
		return errDuplicate
	case p.open != nil && !at.after(pair{p.open.Round, p.open.Attempt}):
		return errDuplicate
	case p.now/1000 > p.bound.Plan.NotAfter:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrExpired, m.Round, m.Attempt)
	}
	p.eff.Put("want", data)
	p.open, p.proposing, p.progress = m, false, p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: m.Round, Attempt: m.Attempt, Total: int(p.bound.Plan.Rounds)})
	return nil
}

// ask has the update computed, once this party knows that it may contribute:
// the model is the one it has, and the budget pays.
func (p *Party) ask() {
	w := p.open
	if w.Model != p.modelDigest {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "round %d: %w: the aggregator opened it on another model than the results lead to", w.Round, protocol.ErrMismatch))
		return
	}
	if _, _, err := p.cfg.Ledger.Charge(w.Round, w.Attempt); err != nil {
		p.finish(err)
		return
	}
	p.proposing = true
	p.eff.Propose = &protocol.Work{Round: w.Round, Attempt: w.Attempt, Model: p.model, State: p.state}
}

// proposal turns the computed update into a contribution.
func (p *Party) proposal(e protocol.Proposal) {
	if p.open == nil || !p.proposing || e.Round != p.open.Round || e.Attempt != p.open.Attempt || p.open.Round != p.settled+1 {
		return // the attempt it was for is over, or nobody asked
	}
	if e.Err != nil {
		p.finish(fmt.Errorf("round %d: update: %w", e.Round, e.Err))
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

// packUpdate takes an update in, and holds the application to the plan's bound: an update outside
// it would break the sensitivity that everybody signed.
func (p *Party) packUpdate(update []int64) (outbox []byte, err error) {
	if len(update) != int(p.bound.Plan.Dim) {
		return nil, protocol.Fail(protocol.ClassInput, "update: %d coordinates, the plan has %d", len(update), p.bound.Plan.Dim)
	}
	outbox, within := packOutbox(p.cfg.Room.forOutbox(), update, p.bound.Plan.PerParty)
	p.cfg.Room.keepOutbox(outbox)
	if !within {
		return nil, protocol.Fail(protocol.ClassInput, "update: its L2 norm is beyond the plan's bound of %d grid units for one party", p.bound.Plan.PerParty)
	}
	return outbox, nil
}

// contribute makes the attempt this party's own: the charge, the noise's seed and the
// update are durable in one transaction, and everything that leaves follows from them.
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
	m := &contribution{pair: pair{e.Round, e.Attempt}, memo: e.Memo, receipts: map[uint32]bool{}}
	p.persist(m, outbox, d)
	p.own, p.latest, p.open, p.proposing, p.progress = m, m.pair, nil, false, p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteContributed, Round: e.Round, Attempt: e.Attempt})
	return p.startSending(outbox[outboxHeader:], d)
}

// persist stores what the contribution is made from.
func (p *Party) persist(m *contribution, outbox []byte, d *drawn) {
	var seed noise.Seed
	if d != nil {
		seed = d.seed
	}
	completeOutbox(outbox, seed)
	p.eff.Put("attempt", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, m.round), m.attempt))
	p.eff.Put("outbox", outbox)
	p.eff.Put("memo", m.memo)
	p.eff.Delete("want")
	p.eff.Delete("head") // of the attempt before, if that was void
}

// receipt keeps a node's promise for good.
func (p *Party) receipt(node uint32, m *protocol.Receipt, data []byte) error {
	if m.Party != p.self || p.own == nil || p.own.pair != (pair{m.Round, m.Attempt}) {
		return errDuplicate
	}
	if p.own.head == nil || m.Bundle != p.own.bundle {
		return fmt.Errorf("%w: %s gave a receipt for something else", protocol.ErrMismatch, p.bound.Name(node))
	}
	if p.own.receipts[node] {
		return errDuplicate
	}
	p.own.receipts[node], p.own.manifestSent = true, false
	p.progress = p.now
	p.eff.Put(fmt.Sprintf("receipt/%d/%d/%d", m.Round, m.Attempt, node), data)
	if !p.waiting() { // it will not be sent again: the seed goes, and the update with it
		p.own.out = nil
		p.eff.Delete("outbox")
	}
	p.eff.Note(protocol.Notice{Code: protocol.NoteReceipt, Round: m.Round, Attempt: m.Attempt, Peer: p.bound.Name(node), Count: len(p.own.receipts), Total: p.computes})
	return nil
}
