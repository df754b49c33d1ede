package party

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// opened takes in an attempt that the aggregator opened. One that this party
// can't serve yet (it has rounds to settle first) is remembered.
func (p *Party) opened(m *protocol.Round, data []byte) error {
	at := pair{m.Round, m.Attempt}
	switch {
	case m.Round > p.s.Plan.Rounds:
		return fmt.Errorf("%w: round %d of %d", protocol.ErrMismatch, m.Round, p.s.Plan.Rounds)
	case m.Attempt > p.s.Plan.SpareAttempts+1:
		return fmt.Errorf("%w: attempt %d, the plan allows %d", protocol.ErrMismatch, m.Attempt, p.s.Plan.SpareAttempts+1)
	case m.Round <= p.settled:
		return errDuplicate
	case !at.after(p.did):
		return errDuplicate
	case p.want != nil && !at.after(pair{p.want.Round, p.want.Attempt}):
		return errDuplicate
	}
	p.eff.Put("want", data)
	p.want, p.asked, p.seen = m, false, p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: m.Round, Attempt: m.Attempt, Total: int(p.s.Plan.Rounds)})
	return nil
}

// ask has the update computed, once this party knows that it may contribute:
// the model is the one it has, and the budget pays.
func (p *Party) ask() {
	w := p.want
	if w.Model != protocol.IntDigest(p.model) {
		p.finish(protocol.Fail(protocol.ClassIntegrity, "round %d: %w: the aggregator opened it on another model than the results lead to", w.Round, protocol.ErrMismatch))
		return
	}
	if _, _, err := p.cfg.Ledger.Charge(w.Round, w.Attempt); err != nil {
		p.finish(err)
		return
	}
	p.asked = true
	p.eff.Propose = &protocol.Work{Round: w.Round, Attempt: w.Attempt, Model: p.model, State: p.state}
}

// proposal turns the computed update into a contribution: noise, shares,
// seals, the signed account; persists all of it with the charge; then sends.
func (p *Party) proposal(e protocol.Proposal) {
	if p.want == nil || !p.asked || e.Round != p.want.Round || e.Attempt != p.want.Attempt || p.want.Round != p.settled+1 {
		return // the attempt it was for is over, or nobody asked
	}
	if e.Err != nil {
		p.finish(fmt.Errorf("round %d: update: %w", e.Round, e.Err))
		return
	}
	if err := p.checkUpdate(e.Update); err != nil {
		p.finish(err)
		return
	}
	if err := p.contribute(e); err != nil {
		p.finish(fmt.Errorf("round %d: contribution: %w", e.Round, err))
	}
}

// checkUpdate holds the application to the plan's bound: an update outside it
// would break the sensitivity that everybody signed.
func (p *Party) checkUpdate(update []int64) error {
	if len(update) != int(p.s.Plan.Dim) {
		return protocol.Fail(protocol.ClassInput, "update: %d coordinates, the plan has %d", len(update), p.s.Plan.Dim)
	}
	if !fixedpoint.NormSquaredAtMost(update, p.s.Plan.PerParty) {
		return protocol.Fail(protocol.ClassInput, "update: its L2 norm is beyond the plan's bound of %d grid units for one party", p.s.Plan.PerParty)
	}
	return nil
}

func (p *Party) contribute(e protocol.Proposal) error {
	entry, seq, err := p.cfg.Ledger.Charge(e.Round, e.Attempt)
	if err != nil {
		return err
	}
	x, err := p.noised(e.Update)
	if err != nil {
		return err
	}
	c, chunks, err := p.split(e.Round, e.Attempt, x)
	if err != nil {
		return err
	}
	if err := p.commit(c, x); err != nil {
		return err
	}
	if err := p.confirm(c); err != nil {
		return err
	}
	m := &mine{pair: pair{e.Round, e.Attempt}, memo: e.Memo, receipts: map[uint32]bool{}}
	if m.bundle, err = c.BundleDigest(p.s, p.self); err != nil {
		return err
	}
	head, err := p.s.Sign(p.cfg.Key, p.self, c)
	if err != nil {
		return err
	}
	if m.outbox, err = p.outbox(head, chunks, m.pair); err != nil {
		return err
	}
	if err := p.cfg.Ledger.Commit(entry); err != nil {
		return err
	}
	if entry != nil {
		p.eff.Put(fmt.Sprintf("ledger/%08d", seq), entry)
	}
	p.persist(m, head)
	p.eff.Send = append(p.eff.Send, m.outbox...)
	p.mine, p.did, p.want, p.asked, p.seen = m, m.pair, nil, false, p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteContributed, Round: e.Round, Attempt: e.Attempt})
	return nil
}

func (p *Party) persist(m *mine, head []byte) {
	p.eff.Put("attempt", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, m.round), m.attempt))
	p.eff.Put("head", head)
	p.eff.Delete("want")
	p.eff.Put("memo", m.memo)
	p.eff.Put("outbox", protocol.MarshalOutgoing(m.outbox))
}

// noised encodes the update with this party's part of the noise (Paper I,
// Theorem 1): integers plus an exact discrete Gaussian, nothing in floating
// point.
func (p *Party) noised(update []int64) ([]int64, error) {
	x := make([]int64, len(update))
	if p.s.Plan.Noise == protocol.NoiseParty {
		if p.noise == nil { // its table takes longer than a sample: once a life
			g, err := noise.NewGaussian(p.s.Plan.Variance)
			if err != nil {
				return nil, err
			}
			p.noise = g
		}
		if err := p.noise.Fill(x, p.cfg.Rand); err != nil {
			return nil, err
		}
	}
	for i, u := range update {
		x[i] += u // both are far below 2^62: the plan's headroom
	}
	return x, nil
}

// split makes the shares (Algorithm 1, steps 1 and 2, with M-1 of the M shares
// derived from keys that the nodes already hold) and the account of them.
func (p *Party) split(round, attempt uint32, noised []int64) (*protocol.Contribution, []*protocol.Chunk, error) {
	x := make(field.Vector, len(noised))
	if err := fixedpoint.ToField(x, noised); err != nil {
		return nil, nil, err
	}
	explicit := share.ExplicitIndex(int(p.self), int(round), p.m)
	var masks []*xof.Stream
	for k := range p.m {
		if k == explicit {
			continue
		}
		mask, err := p.s.Mask(p.links[p.s.Plan.Compute(k)].Secret, p.context(k, round, attempt))
		if err != nil {
			return nil, nil, err
		}
		masks = append(masks, mask)
	}
	share.Explicit(x, masks)
	to := p.links[p.s.Plan.Compute(explicit)].Secret
	chunks, err := p.s.SealVector(to, p.context(explicit, round, attempt), field.AppendVector(nil, x))
	if err != nil {
		return nil, nil, err
	}
	return p.account(round, attempt, explicit, chunks), chunks, nil
}

func (p *Party) account(round, attempt uint32, explicit int, chunks []*protocol.Chunk) *protocol.Contribution {
	digests := make([]protocol.Digest, len(chunks))
	for i, c := range chunks {
		digests[i] = protocol.ChunkDigest(c.Ciphertext)
	}
	return &protocol.Contribution{Round: round, Attempt: attempt, Model: protocol.IntDigest(p.model), Explicit: uint32(explicit),
		Vector: protocol.ChunkList(digests), Confirm: make([][16]byte, p.m)}
}

// commit adds audit mode's commitment to what was noised, and a share of its
// blinding scalar for every node.
func (p *Party) commit(c *protocol.Contribution, noised []int64) error {
	if !p.s.Plan.Audit {
		return nil
	}
	blinding, err := commit.RandomScalar(p.cfg.Rand)
	if err != nil {
		return err
	}
	if c.Commitment, err = p.cfg.Bases.Commit(noised, blinding); err != nil {
		return err
	}
	shares, err := blinding.Split(p.m, p.cfg.Rand)
	if err != nil {
		return err
	}
	c.Blinding = make([]protocol.SealedScalar, p.m)
	for k := range shares {
		to := p.links[p.s.Plan.Compute(k)].Secret
		if c.Blinding[k], err = p.s.SealBlinding(to, p.context(k, c.Round, c.Attempt), shares[k]); err != nil {
			return err
		}
	}
	return nil
}

// confirm tags everything else in the account for each node.
func (p *Party) confirm(c *protocol.Contribution) error {
	tags := make([][16]byte, p.m)
	for k := range tags {
		var err error
		if tags[k], err = p.s.Confirm(p.links[p.s.Plan.Compute(k)].Secret, p.context(k, c.Round, c.Attempt), c); err != nil {
			return err
		}
	}
	c.Confirm = tags
	return nil
}

func (p *Party) context(k int, round, attempt uint32) protocol.Context {
	return protocol.Context{From: p.self, To: p.s.Plan.Compute(k), Round: round, Attempt: attempt, Purpose: protocol.PurposeShare}
}

func (p *Party) outbox(head []byte, chunks []*protocol.Chunk, at pair) ([]protocol.Outgoing, error) {
	var out []protocol.Outgoing
	for _, c := range chunks {
		b, err := c.Marshal()
		if err != nil {
			return nil, err
		}
		out = append(out, protocol.Outgoing{Subject: p.s.SubjectShare(c), Data: b})
	}
	return append(out, protocol.Outgoing{Subject: p.s.SubjectCommit(p.self, at.round, at.attempt), Data: head}), nil
}

// receipt keeps a node's promise for good.
func (p *Party) receipt(node uint32, m *protocol.Receipt, data []byte) error {
	if m.Party != p.self || p.mine == nil || p.mine.pair != (pair{m.Round, m.Attempt}) {
		return errDuplicate
	}
	if m.Bundle != p.mine.bundle {
		return fmt.Errorf("%w: %s gave a receipt for something else", protocol.ErrMismatch, p.s.Name(node))
	}
	if p.mine.receipts[node] {
		return errDuplicate
	}
	p.mine.receipts[node] = true
	p.seen = p.now
	p.eff.Put(fmt.Sprintf("receipt/%d/%d/%d", m.Round, m.Attempt, node), data)
	p.eff.Note(protocol.Notice{Code: protocol.NoteReceipt, Round: m.Round, Attempt: m.Attempt, Peer: p.s.Name(node), Count: len(p.mine.receipts), Total: p.m})
	return nil
}
