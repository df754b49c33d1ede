package protocol

import (
	"fmt"

	"choir/crypto/channel"
)

// manifestOf is a contribution without its confirmations.
type manifestOf struct{ m *Contribution }

func (a manifestOf) fields(w *wire) { a.m.manifest(w) }

// manifestSize is what an account without audit's scalars takes, in bytes, and more.
const manifestSize = 128

// ManifestDigest names everything in a party's contribution but the confirmations: what
// they confirm. Each end works it out once, for however many nodes.
func (m *Contribution) ManifestDigest(s BoundPlan, party uint32) (Digest, error) {
	var room [manifestSize]byte
	body, err := marshalTo(room[:0], manifestOf{m})
	if err != nil {
		return Digest{}, err
	}
	return digest(manifestContext, s.ID[:], u32bytes(party), body), nil
}

// BundleDigest names a contribution in holds, sets and receipts.
func (m *Contribution) BundleDigest(s BoundPlan, party uint32) (Digest, error) {
	account, err := m.ManifestDigest(s, party)
	if err != nil {
		return Digest{}, err
	}
	return m.BundleOf(s, party, account)
}

// BundleOf is BundleDigest, given the account's digest.
func (m *Contribution) BundleOf(s BoundPlan, party uint32, account Digest) (Digest, error) {
	if uint64(m.Explicit) >= uint64(len(m.Confirm)) {
		return Digest{}, fmt.Errorf("%w: explicit node %d of %d", ErrMalformed, m.Explicit, len(m.Confirm))
	}
	tags := make([]byte, 0, 16*len(m.Confirm))
	for i := range m.Confirm {
		tags = append(tags, m.Confirm[i][:]...)
	}
	return digest(bundleContext, s.ID[:], u32bytes(party), account[:], tags), nil
}

// Confirm is a node's tag on a contribution, given its ManifestDigest: it shows that
// both ends of the channel derive the same keys for this attempt, before anything is
// summed. The context is that of the party's share to the node.
func (s BoundPlan) Confirm(secret *channel.Secret, c Context, account Digest) [16]byte {
	key := secret.Derive(confirmKey, append(c.bytes(s.ID), account[:]...))
	return [16]byte(key[:16])
}
