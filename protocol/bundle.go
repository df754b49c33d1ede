package protocol

import (
	"fmt"

	"choir/crypto/channel"
)

// manifestOf encodes a contribution without its confirmations.
type manifestOf struct{ *Contribution }

func (m manifestOf) fields(w *wire) { m.Contribution.manifest(w) }

// manifestSize is at least the size of a manifest without audit, in bytes.
const manifestSize = 128

// ManifestDigest is the digest of a party's contribution without the confirmations, which
// confirm it.
func (m *Contribution) ManifestDigest(s BoundPlan, party uint32) (Digest, error) {
	var buf [manifestSize]byte
	body, err := marshalTo(buf[:0], manifestOf{m})
	if err != nil {
		return Digest{}, err
	}
	return digest(manifestContext, s.ID[:], u32bytes(party), body), nil
}

// BundleDigest is the digest that names a contribution in holds, sets and receipts.
func (m *Contribution) BundleDigest(s BoundPlan, party uint32) (Digest, error) {
	manifest, err := m.ManifestDigest(s, party)
	if err != nil {
		return Digest{}, err
	}
	return m.BundleOf(s, party, manifest)
}

// BundleOf is BundleDigest, given the manifest's digest.
func (m *Contribution) BundleOf(s BoundPlan, party uint32, manifest Digest) (Digest, error) {
	if uint64(m.Explicit) >= uint64(len(m.Confirm)) {
		return Digest{}, fmt.Errorf("%w: explicit node %d of %d", ErrMalformed, m.Explicit, len(m.Confirm))
	}
	tags := make([]byte, 0, 16*len(m.Confirm))
	for i := range m.Confirm {
		tags = append(tags, m.Confirm[i][:]...)
	}
	return digest(bundleContext, s.ID[:], u32bytes(party), manifest[:], tags), nil
}

// Confirm is the confirmation of a contribution for a node, given the ManifestDigest. It shows
// that both ends of the channel derive the same keys for this attempt, before anything is
// summed. The context is that of the party's share to the node.
func (s BoundPlan) Confirm(secret *channel.Secret, c Context, manifest Digest) [16]byte {
	key := secret.Derive(confirmKey, append(c.bytes(s.ID), manifest[:]...))
	return [16]byte(key[:16])
}
