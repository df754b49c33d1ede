package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// Shares that are derived from a seed wait for others, so that they are added
// together, on all cores: one alone may be too short to share out. They wait in memory
// only. After a crash the sum is made again from what is stored, like all of it.
const (
	maxPending = 64      // streams: some hundred bytes each
	muchWork   = 1 << 20 // elements of keystream, a few milliseconds': enough for all cores
)

// addSeed takes a seed-derived share into the sum: a whole vector of keystream that
// nobody sent.
func (n *Node) addSeed(from uint32, secret *channel.Secret) error {
	mask, err := n.s.Mask(secret, n.context(from))
	if err != nil {
		return err
	}
	n.at.pending = append(n.at.pending, mask)
	if waiting := len(n.at.pending); waiting >= maxPending || waiting*n.s.Plan.Elements() >= muchWork {
		n.addPending()
	}
	return nil
}

// addPending adds what waits.
func (n *Node) addPending() {
	n.adder.Add(n.at.acc, n.at.pending...)
	clear(n.at.pending)
	n.at.pending = n.at.pending[:0]
}

// keepSet turns the sum of everything taken in into the set's: it takes out again
// whoever isn't in it.
func (n *Node) keepSet() error {
	n.addPending()
	for i := range n.at.parties {
		if _, in := protocol.Find(n.at.set, uint32(i)); in {
			continue
		}
		if err := n.expel(uint32(i), &n.at.parties[i]); err != nil {
			return err
		}
	}
	return nil
}

// refuse drops a contribution whose pieces contradict its account; the party
// is out of this attempt.
func (n *Node) refuse(from uint32, p *contribution) error {
	err := n.expel(from, p)
	for i := range n.s.Chunks() {
		if p.took(i) {
			n.eff.Delete(n.shareKey(from, uint32(i)))
		}
	}
	p.refused, p.parts = true, nil
	return err
}

// expel takes a party's share out of the sum again, from its stored ciphertext
// or from its seed. Nothing of the sum may be pending, or nothing of the party.
func (n *Node) expel(from uint32, p *contribution) error {
	secret := n.channels[from]
	if n.explicitNode(from) != n.k {
		if !p.whole {
			return nil
		}
		mask, err := n.s.Mask(secret, n.context(from))
		if err == nil {
			share.SubSeeds(n.at.acc, mask)
		}
		return err
	}
	for i := range n.s.Chunks() {
		if !p.took(i) {
			continue
		}
		if err := n.expelChunk(from, uint32(i), secret); err != nil {
			return fmt.Errorf("stored chunk %d of %s: %w", i, n.s.Name(from), err)
		}
	}
	return nil
}

// took says whether a chunk of an explicit share is in the sum.
func (p *contribution) took(chunk int) bool {
	return p.whole || p.parts != nil && p.parts.chunks != nil && p.parts.chunks[chunk] != (protocol.Digest{})
}

func (n *Node) expelChunk(from, i uint32, secret *channel.Secret) error {
	c, err := protocol.ViewChunk(n.get(n.shareKey(from, i)))
	if err != nil {
		return err
	}
	plain, err := n.openShare(secret, c)
	if err != nil {
		return err
	}
	return xof.Chunk(n.at.acc, uint64(i)).SubEncoded(plain)
}
