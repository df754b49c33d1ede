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
	for i, c := range n.at.parties {
		if _, in := protocol.Find(n.at.set, i); in {
			continue
		}
		if err := n.expel(i, c); err != nil {
			return err
		}
	}
	return nil
}

// refuse drops a contribution whose pieces contradict its account; the party
// is out of this attempt.
func (n *Node) refuse(from uint32, p *contribution) error {
	err := n.expel(from, p)
	for i, d := range p.chunks {
		if d != (protocol.Digest{}) {
			n.eff.Delete(n.shareKey(from, uint32(i)))
		}
	}
	p.refused, p.chunks, p.count = true, nil, 0
	return err
}

// expel takes a party's share out of the sum again, from its stored ciphertext
// or from its seed. Nothing of the sum may be pending, or nothing of the party.
func (n *Node) expel(from uint32, p *contribution) error {
	secret := n.channels[from].Secret
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
	for i := range uint32(n.s.Chunks()) {
		if p.count == 0 || p.chunks[i] == (protocol.Digest{}) {
			continue
		}
		if err := n.expelChunk(from, i, secret); err != nil {
			return fmt.Errorf("stored chunk %d of %s: %w", i, n.s.Name(from), err)
		}
	}
	return nil
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
