package party

import (
	"choir/crypto/commit"
	"choir/protocol"
)

// signManifest signs the account of what was sent: one digest over all chunks, a tag for
// every node and, in audit mode, the commitment to what was noised.
func (p *Party) signManifest() error {
	m := p.own
	c := &protocol.Contribution{Round: m.round, Attempt: m.attempt, Model: p.modelDigest, Explicit: uint32(p.explicit(m.round)),
		Vector: protocol.ChunkList(m.out.digests), Confirm: make([][16]byte, p.computes)}
	if p.bound.Plan.Audit {
		if err := p.addCommitment(c, m.out); err != nil {
			return err
		}
	}
	account, err := c.ManifestDigest(p.bound, p.self)
	if err != nil {
		return err
	}
	for k := range c.Confirm {
		c.Confirm[k] = p.bound.Confirm(p.node(k), p.context(k, m.pair), account)
	}
	if m.bundle, err = c.BundleOf(p.bound, p.self, account); err != nil {
		return err
	}
	m.head, err = p.bound.Sign(p.cfg.Key, p.self, c)
	return err
}

// addCommitment adds audit mode's commitment to what was noised, and a share of its
// blinding scalar for every node. It takes the vector as a whole: the plan bounds its
// dimension in this mode.
func (p *Party) addCommitment(c *protocol.Contribution, out *sending) error {
	noised := make([]int64, p.bound.Plan.Dim)
	var buf scratch
	for i := range p.bound.Chunks() {
		samples, err := p.samples(out, i, &buf)
		if err != nil {
			return err
		}
		from, n := p.bound.ChunkCoordinates(i)
		if err := p.noised(out, noised[from:from+n], samples, from, 0); err != nil {
			return err
		}
	}
	ints, err := p.bound.Plan.Integers(make([]int64, p.bound.Plan.Elements()), noised)
	if err != nil {
		return err
	}
	blinding, err := commit.RandomScalar(p.cfg.Rand)
	if err != nil {
		return err
	}
	if c.Commitment, err = p.cfg.Bases.Commit(ints, blinding); err != nil {
		return err
	}
	shares, err := blinding.Split(p.computes, p.cfg.Rand)
	if err != nil {
		return err
	}
	c.Blinding = make([]protocol.SealedScalar, p.computes)
	for k := range shares {
		if c.Blinding[k], err = p.bound.SealBlinding(p.node(k), p.context(k, p.own.pair), shares[k]); err != nil {
			return err
		}
	}
	return nil
}
