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

// send begins to send the contribution that is out, from its first chunk.
func (p *Party) send(update []byte, d *drawn) error {
	at := p.mine.pair
	out := &sending{update: update, noise: d, room: p.cfg.Room}
	if out.room == nil {
		out.room = new(Room)
	}
	for k := range p.m {
		if k == p.explicit(at.round) {
			continue
		}
		mask, err := p.s.Mask(p.node(k), p.context(k, at))
		if err != nil {
			return err
		}
		out.masks = append(out.masks, mask)
	}
	k := p.explicit(at.round)
	var err error
	if out.sealer, err = p.s.Sealer(p.node(k), p.context(k, at)); err != nil {
		return err
	}
	p.mine.out = out
	return nil
}

// sendAgain does so from what is stored.
func (p *Party) sendAgain() error {
	seed, packed, err := unmarshalOutbox(p.get("outbox"))
	if err != nil {
		return err
	}
	if !p.noisy() {
		return p.send(packed, nil)
	}
	if err := p.makeSampler(); err != nil {
		return err
	}
	return p.send(packed, &drawn{seed: seed})
}

// push sends the next window, and the head behind the last one.
func (p *Party) push() error {
	out, perChunk := p.mine.out, xof.ChunkElements*field.ElementSize
	n := min(max(1, p.cfg.Window/perChunk), p.s.Chunks()-out.next)
	messages, digests := make([][]byte, n), make([]protocol.Digest, n)
	cores := parallel.Workers(n)
	out.room.forCores(cores)
	out.room.forMessages(out.next + n)
	err := parallel.Try(cores, func(core int) error {
		for i := core; i < n; i += cores {
			m, ciphertext, err := p.chunkOf(out, out.next+i, &out.room.cores[core])
			if err != nil {
				return err
			}
			if messages[i] = m; p.mine.head == nil {
				digests[i] = out.room.cores[core].sum.Digest(ciphertext)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, m := range messages {
		c := &protocol.Chunk{Context: p.context(p.explicit(p.mine.round), p.mine.pair), Index: uint32(out.next + i)}
		p.eff.Emit(p.s.SubjectShare(c), m)
	}
	out.digests, out.next, p.seen = append(out.digests, digests...), out.next+n, p.now
	if out.next < p.s.Chunks() {
		return nil
	}
	return p.sendHead()
}

// chunkOf makes a chunk: the update's coordinates, with this party's part of the
// noise (Paper I, Theorem 1), less the masks, sealed. Integers and an exact
// discrete Gaussian: nothing in floating point. Window by window, it is made where it is
// sealed then.
func (p *Party) chunkOf(out *sending, i int, buf *scratch) (message, ciphertext []byte, err error) {
	samples, err := p.samples(out, i, buf)
	if err != nil {
		return nil, nil, err
	}
	share.ExplicitWindows(&buf.explicit, uint64(i), out.masks)
	per := p.s.Plan.PerElement()
	from, coordinates := p.s.ChunkCoordinates(i)
	message, ciphertext = out.sealer.SealIn(out.room.messages[i], i, func(plain []byte) {
		for at := 0; at < len(plain)/field.ElementSize && err == nil; at += windowElements {
			n := min(windowElements, len(plain)/field.ElementSize-at)
			noised, x := buf.noised[:min(n*per, coordinates-at*per)], field.Vector(buf.x[:n])
			if err = p.noised(out, noised, samples, from, at*per); err == nil {
				err = p.s.Plan.ToField(x, noised)
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
	from, n := p.s.ChunkCoordinates(i)
	switch {
	case out.noise == nil:
		return nil, nil
	case from+n <= out.noise.ready && p.cfg.Room.has(out.noise):
		return out.noise.whole[from : from+n], nil
	}
	if len(buf.samples) < n {
		_, most := p.s.ChunkCoordinates(0)
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
		return addPacked(dst, dst, out.update, int(p.s.Plan.Dim), from+at)
	}
	return addPacked(dst, samples[at:], out.update, int(p.s.Plan.Dim), from+at)
}

// sendHead ends the sending with the signed account. The first time it is made, and
// durable before it leaves, like everything else.
func (p *Party) sendHead() error {
	m := p.mine
	if m.head == nil {
		if err := p.makeHead(); err != nil {
			return err
		}
		p.eff.Put("head", m.head)
	}
	p.eff.Emit(p.s.SubjectCommit(p.self, m.round, m.attempt), m.head)
	if d := m.out.noise; d != nil && d.whole != nil && p.cfg.Room == nil {
		p.spare = d.whole // it is in the chunks now
	}
	m.out = nil
	return nil
}

// node is the secret of the channel to the k-th compute node.
func (p *Party) node(k int) *channel.Secret { return p.links[p.compute(k)].Secret }

// compute is the k-th compute node's index.
func (p *Party) compute(k int) uint32 { return p.nodes + uint32(k) }

func (p *Party) context(k int, at pair) protocol.Context {
	return protocol.Context{From: p.self, To: p.compute(k), Round: at.round, Attempt: at.attempt, Purpose: protocol.PurposeShare}
}

// explicit is the node that gets this party's explicit share in a round.
func (p *Party) explicit(round uint32) int {
	return share.ExplicitIndex(int(p.self), int(round), p.m)
}
