package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// Shares that are derived from a seed are added several at a time, on all cores: a single one
// may be too short to divide. They wait in memory only. After a restart the sum is made again
// from the stored contributions.
const (
	maxPending = 64      // streams of some hundred bytes each
	muchWork   = 1 << 20 // elements of keystream, a few milliseconds of work
)

// addSeed adds a share that is derived from a seed: a vector of keystream.
func (in *intake) addSeed(from uint32, p *contribution, secret *channel.Secret) error {
	mask, err := in.mask(from, p, secret)
	if err != nil {
		return err
	}
	in.pending = append(in.pending, mask)
	if n := len(in.pending); n >= maxPending || n*in.s.Plan.Elements() >= muchWork {
		in.addPending()
	}
	return nil
}

func (in *intake) addPending() {
	in.adder.Add(in.sum, in.pending...)
	clear(in.pending)
	in.pending = in.pending[:0]
}

// restrict turns the sum of all shares received into the set's: it subtracts the others.
func (in *intake) restrict(set []protocol.Entry) error {
	in.addPending()
	for i := range in.contributions {
		if _, ok := protocol.Find(set, uint32(i)); ok {
			continue
		}
		if err := in.subtract(uint32(i), &in.contributions[i]); err != nil {
			return err
		}
	}
	return nil
}

// blindings is the sum of this node's blinding shares over a set, zero without audit. It
// reveals nothing alone; with those of all nodes it opens the sum of the set's commitments.
func (in *intake) blindings(set []protocol.Entry) (sum [32]byte) {
	if !in.s.Plan.Audit {
		return sum
	}
	shares := make([]*commit.Scalar, len(set))
	for i, e := range set {
		shares[i] = in.contributions[e.Party].blind
	}
	return [32]byte(commit.SumScalars(shares).Bytes())
}

// refuse drops a contribution whose chunks contradict its head. The party is out of this
// attempt.
func (in *intake) refuse(from uint32, p *contribution) error {
	err := in.subtract(from, p)
	for i := range in.s.Chunks() {
		if p.added(i) {
			in.eff.Delete(in.shareKey(from, uint32(i)))
		}
	}
	p.refused = true
	p.parts = nil
	return err
}

// subtract removes a party's share from the sum, by its stored chunks or by its seed. The
// share must not be pending.
func (in *intake) subtract(from uint32, p *contribution) error {
	secret := in.secret(from)
	if in.explicitNode(from) != in.k {
		if !p.whole {
			return nil
		}
		mask, err := in.mask(from, p, secret)
		if err == nil {
			share.SubSeeds(in.sum, mask)
		}
		return err
	}
	for i := range in.s.Chunks() {
		if !p.added(i) {
			continue
		}
		if err := in.subtractChunk(from, uint32(i), secret); err != nil {
			return fmt.Errorf("stored chunk %d of %s: %w", i, in.s.Name(from), err)
		}
	}
	return nil
}

// added reports whether a chunk of an explicit share is in the sum.
func (p *contribution) added(chunk int) bool {
	return p.whole || p.parts != nil && p.parts.chunks != nil && p.parts.chunks[chunk] != (protocol.Digest{})
}

func (in *intake) subtractChunk(from, i uint32, secret *channel.Secret) error {
	c, err := protocol.ViewChunk(in.get(in.shareKey(from, i)))
	if err != nil {
		return err
	}
	plain, err := in.openShare(secret, c)
	if err != nil {
		return err
	}
	return xof.Chunk(in.sum, uint64(i)).SubEncoded(plain)
}
