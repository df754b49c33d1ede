package party

import (
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
)

// A contribution is a function of what is stored: the update, the noise's seed and
// the channels' secrets. It is made chunk by chunk, as often as it has to be sent, and
// is the same to the byte each time: same masks, same keys and nonces, same
// plaintexts. So nothing of 8 bytes a coordinate is kept beside the update, and sealing
// a chunk again is harmless (crypto/channel, Box).

// defaultWindow is how much of a contribution leaves in one step, in bytes.
const defaultWindow = 8 << 20

// sending is a contribution on its way out, from the first chunk to the head.
type sending struct {
	update  []byte // packed
	noise   *drawn // nil under a plan in which the parties add none
	masks   []*xof.Stream
	sealer  *protocol.Sealer
	next    int               // the chunk that leaves next
	digests []protocol.Digest // of the chunks that have left, while there is no head
	room    *Room
}

// startSending begins to startSending the contribution that is out, from its first chunk.
func (p *Party) startSending(update []byte, d *drawn) error {
	at := p.own.pair
	out := &sending{update: update, noise: d, room: p.cfg.Room}
	if out.room == nil {
		out.room = new(Room)
	}
	for k := range p.computes {
		if k == p.explicit(at.round) {
			continue
		}
		mask, err := p.bound.Mask(p.node(k), p.context(k, at))
		if err != nil {
			return err
		}
		out.masks = append(out.masks, mask)
	}
	k := p.explicit(at.round)
	var err error
	if out.sealer, err = p.bound.Sealer(p.node(k), p.context(k, at)); err != nil {
		return err
	}
	p.own.out = out
	return nil
}

// restartSending does so from what is stored.
func (p *Party) restartSending() error {
	seed, packed, err := unmarshalOutbox(p.stored("outbox"))
	if err != nil {
		return err
	}
	if !p.noisy() {
		return p.startSending(packed, nil)
	}
	if err := p.makeSampler(); err != nil {
		return err
	}
	return p.startSending(packed, &drawn{seed: seed})
}

// sendWindow sends the next window, and the head behind the last one.
func (p *Party) sendWindow() error {
	out, perChunk := p.own.out, xof.ChunkElements*field.ElementSize
	n := min(max(1, p.cfg.Window/perChunk), p.bound.Chunks()-out.next)
	messages, digests := make([][]byte, n), make([]protocol.Digest, n)
	cores := parallel.Workers(n)
	out.room.forCores(cores)
	out.room.forMessages(out.next + n)
	err := parallel.Try(cores, func(core int) error {
		for i := core; i < n; i += cores {
			m, ciphertext, err := p.makeChunk(out, out.next+i, &out.room.cores[core])
			if err != nil {
				return err
			}
			if messages[i] = m; p.own.head == nil {
				digests[i] = out.room.cores[core].sum.Digest(ciphertext)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, m := range messages {
		c := &protocol.Chunk{Context: p.context(p.explicit(p.own.round), p.own.pair), Index: uint32(out.next + i)}
		p.eff.Emit(p.bound.SubjectShare(c), m)
	}
	out.digests, out.next, p.progress = append(out.digests, digests...), out.next+n, p.now
	if out.next < p.bound.Chunks() {
		return nil
	}
	return p.sendManifest()
}

// makeChunk makes a chunk: the update's coordinates, with this party's part of the
// noise (Paper I, Theorem 1), less the masks, sealed. Integers and an exact
// discrete Gaussian: nothing in floating point. Window by window, it is made where it is
// sealed then.
func (p *Party) makeChunk(out *sending, i int, buf *scratch) (message, ciphertext []byte, err error) {
	samples, err := p.samples(out, i, buf)
	if err != nil {
		return nil, nil, err
	}
	share.ExplicitWindows(&buf.explicit, uint64(i), out.masks)
	per := p.bound.Plan.PerElement()
	from, coordinates := p.bound.ChunkCoordinates(i)
	message, ciphertext = out.sealer.SealIn(out.room.messages[i], i, func(plain []byte) {
		for at := 0; at < len(plain)/field.ElementSize && err == nil; at += windowElements {
			n := min(windowElements, len(plain)/field.ElementSize-at)
			noised, x := buf.noised[:min(n*per, coordinates-at*per)], field.Vector(buf.x[:n])
			if err = p.noised(out, noised, samples, from, at*per); err == nil {
				err = p.bound.Plan.ToField(x, noised)
			}
			if err != nil {
				err = fmt.Errorf("from coordinate %d on: %w", from+at*per, err)
			}
			buf.explicit.SubFrom(x)
			field.PutVector(plain[at*field.ElementSize:][:n*field.ElementSize], x)
		}
	})
	if err != nil {
		return nil, nil, err // what was sealed leaves with nobody
	}
	if p.cfg.Room != nil {
		out.room.messages[i] = message
	}
	return message, ciphertext, nil
}

// samples is a chunk's noise; nil without any.
func (p *Party) samples(out *sending, i int, buf *scratch) ([]int64, error) {
	from, n := p.bound.ChunkCoordinates(i)
	switch {
	case out.noise == nil:
		return nil, nil
	case from+n <= out.noise.ready && p.cfg.Room.has(out.noise):
		return out.noise.whole[from : from+n], nil
	}
	if len(buf.samples) < n {
		_, most := p.bound.ChunkCoordinates(0)
		buf.samples = make([]int64, most)
	}
	for lo := 0; lo < n; lo += noise.ChunkSamples {
		part := buf.samples[lo:min(n, lo+noise.ChunkSamples)]
		if err := p.noise.FillChunk(part, out.noise.seed, uint64((from+lo)/noise.ChunkSamples)); err != nil {
			return nil, err
		}
	}
	return buf.samples[:n], nil
}

// noised sets dst to coordinates of the update with their noise: those of a chunk that
// begins at the update's coordinate from, at its place at. Both are far below 2^62: the
// plan's headroom.
func (p *Party) noised(out *sending, dst, samples []int64, from, at int) error {
	if samples == nil {
		clear(dst)
		return addPacked(dst, dst, out.update, int(p.bound.Plan.Dim), from+at)
	}
	return addPacked(dst, samples[at:], out.update, int(p.bound.Plan.Dim), from+at)
}

// sendManifest ends the sending with the signed account. The first time it is made, and
// durable before it leaves, like everything else.
func (p *Party) sendManifest() error {
	m := p.own
	if m.head == nil {
		if err := p.signManifest(); err != nil {
			return err
		}
		p.eff.Put("head", m.head)
	}
	p.eff.Emit(p.bound.SubjectContribution(p.self, m.round, m.attempt), m.head)
	if d := m.out.noise; d != nil && d.whole != nil && p.cfg.Room == nil {
		p.spare = d.whole // it is in the chunks now
	}
	m.out = nil
	return nil
}

// node is the secret of the channel to the k-th compute node.
func (p *Party) node(k int) *channel.Secret { return p.links[p.compute(k)].Secret }

// compute is the k-th compute node's index.
func (p *Party) compute(k int) uint32 { return p.firstNode + uint32(k) }

func (p *Party) context(k int, at pair) protocol.Context {
	return protocol.Context{From: p.self, To: p.compute(k), Round: at.round, Attempt: at.attempt, Purpose: protocol.PurposeShare}
}

// explicit is the node that gets this party's explicit share in a round.
func (p *Party) explicit(round uint32) int {
	return share.ExplicitIndex(int(p.self), int(round), p.computes)
}
