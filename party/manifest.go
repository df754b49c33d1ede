package party

import (
	"choir/crypto/commit"
	"choir/protocol"
)

// makeManifest signs the manifest of what was sent: one digest over all chunks, a
// confirmation for every node and, in audit mode, the commitment to the noised update.
func (p *Party) makeManifest() error {
	own := p.own
	m := &protocol.Contribution{
		Round:    own.round,
		Attempt:  own.attempt,
		Model:    p.modelDigest,
		Last:     p.lastResult,
		Salt:     own.salt,
		Explicit: uint32(p.explicit(own.round)),
		Vector:   protocol.ChunkList(own.out.digests),
		Confirm:  make([][16]byte, p.computes),
	}
	if p.bound.Plan.Audit {
		if err := p.addCommitment(m, own.out); err != nil {
			return err
		}
	}
	digest, err := m.ManifestDigest(p.bound, p.self)
	if err != nil {
		return err
	}
	for k := range m.Confirm {
		m.Confirm[k] = p.bound.Confirm(p.secret(k), p.context(k), digest)
	}
	if own.bundle, err = m.BundleOf(p.bound, p.self, digest); err != nil {
		return err
	}
	own.manifest, err = p.bound.Sign(p.cfg.Key, p.self, m)
	return err
}

// addCommitment adds the commitment of audit mode, and a share of its blinding scalar for
// every node. It needs the whole vector in memory; the plan bounds its dimension in this
// mode.
func (p *Party) addCommitment(m *protocol.Contribution, out *sending) error {
	noised := make([]int64, p.bound.Plan.Dim)
	var buf scratch
	for i := range p.bound.Chunks() {
		samples, err := p.samples(out, i, &buf)
		if err != nil {
			return err
		}
		from, n := p.bound.ChunkCoordinates(i)
		out.addNoise(noised[from:from+n], samples, from, 0)
	}
	source := protocol.BlindingSource(out.noise.seed)
	blinding, err := commit.RandomScalar(source)
	if err != nil {
		return err
	}
	if m.Commitment, err = p.bound.Plan.Commit(p.cfg.Bases, noised, blinding); err != nil {
		return err
	}
	shares, err := blinding.Split(p.computes, source)
	if err != nil {
		return err
	}
	m.Blinding = make([]protocol.SealedScalar, p.computes)
	for k := range shares {
		m.Blinding[k], err = p.bound.SealBlinding(p.secret(k), p.context(k), shares[k])
		if err != nil {
			return err
		}
	}
	return nil
}
