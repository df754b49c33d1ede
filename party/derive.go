package party

import (
	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
)

// A contribution is a function of what is stored: the update, the noise seed and the channel
// secrets. It is derived chunk by chunk each time it is sent, with the same masks, keys,
// nonces and plaintexts, so its bytes are the same each time. Nothing of 8 bytes a coordinate
// has to be kept, and sealing a chunk again is harmless (see channel.Box).

// defaultWindow is the default of Config.Window.
const defaultWindow = 8 << 20

// sending is a contribution that is being sent, from the first chunk to the manifest.
type sending struct {
	update  protocol.PackedInts
	noise   *drawn
	masks   []*xof.Stream
	sealer  *protocol.Sealer
	next    int               // index of the next chunk to send
	digests []protocol.Digest // of the chunks that were sent, if there is no manifest yet
	scratch []scratch         // one for each goroutine that makes chunks
}

// scratch is the memory for making a chunk, except its message.
type scratch struct {
	samples  []int64                   // a chunk's noise, if it was not drawn ahead
	noised   [2 * windowElements]int64 // an element has one or two coordinates
	elements [windowElements]field.Element
	sum      *protocol.ChunkHash
	explicit xof.Sweep
}

// windowElements is the number of elements that are made at a time. They fit in the
// first-level cache.
const windowElements = 512

// startSending prepares the own contribution for sending, from its first chunk.
func (p *Party) startSending(update protocol.PackedInts, d *drawn) error {
	at := p.own.pair
	p.own.salt = protocol.ContributionSalt(d.seed)
	explicit := p.explicit(at.round)
	out := &sending{update: update, noise: d}
	for k := range p.computes {
		if k == explicit {
			continue
		}
		mask, err := p.bound.Mask(p.secret(k), p.context(k))
		if err != nil {
			return err
		}
		out.masks = append(out.masks, mask)
	}
	var err error
	if out.sealer, err = p.bound.Sealer(p.secret(explicit), p.context(explicit)); err != nil {
		return err
	}
	p.own.out = out
	return nil
}

// restartSending is startSending from what is stored.
func (p *Party) restartSending() error {
	seed, update, err := unmarshalOutbox(p.store().Get("outbox"), int(p.bound.Plan.Dim))
	if err != nil {
		return err
	}
	if err := p.makeSampler(); err != nil {
		return err
	}
	return p.startSending(update, &drawn{seed: seed})
}

// sendWindow sends the next window, and the manifest after the last one.
func (p *Party) sendWindow() error {
	out := p.own.out
	n := min(max(1, p.cfg.Window/(xof.ChunkElements*field.ElementSize)), p.bound.Chunks()-out.next)
	messages, digests := make([][]byte, n), make([]protocol.Digest, n)
	workers := parallel.Workers(n)
	for len(out.scratch) < workers {
		out.scratch = append(out.scratch, scratch{sum: protocol.NewChunkHash()})
	}
	err := parallel.Try(workers, func(worker int) error {
		buf := &out.scratch[worker]
		for i := worker; i < n; i += workers {
			message, ciphertext, err := p.makeChunk(out, out.next+i, buf)
			if err != nil {
				return err
			}
			messages[i] = message
			if p.own.manifest == nil {
				digests[i] = buf.sum.Digest(ciphertext)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, m := range messages {
		context := p.context(p.explicit(p.own.round))
		c := &protocol.Chunk{Context: context, Index: uint32(out.next + i)}
		p.eff.Emit(p.bound.SubjectShare(c), m)
	}
	out.digests = append(out.digests, digests...)
	out.next += n
	p.progress = p.now
	if out.next < p.bound.Chunks() {
		return nil
	}
	return p.sendManifest()
}

// makeChunk returns a sealed chunk of the explicit share: the update's coordinates plus this
// party's part of the noise ([DCA], Theorem 1), minus the masks. All are integers, and the
// noise is an exact discrete Gaussian. The plaintext is made window by window in the memory
// in which it is then sealed.
func (p *Party) makeChunk(out *sending, i int, buf *scratch) (message, ciphertext []byte, err error) {
	samples, err := p.samples(out, i, buf)
	if err != nil {
		return nil, nil, err
	}
	share.ExplicitWindows(&buf.explicit, uint64(i), out.masks)
	per := p.bound.Plan.PerElement()
	from, coordinates := p.bound.ChunkCoordinates(i)
	message, ciphertext = out.sealer.Seal(i, func(plain []byte) {
		for at := 0; at < len(plain)/field.ElementSize; at += windowElements {
			n := min(windowElements, len(plain)/field.ElementSize-at)
			noised := buf.noised[:min(n*per, coordinates-at*per)]
			elements := field.Vector(buf.elements[:n])
			out.addNoise(noised, samples, from, at*per)
			p.bound.Plan.ToField(elements, noised)
			buf.explicit.SubFrom(elements)
			field.PutVector(plain[at*field.ElementSize:][:n*field.ElementSize], elements)
		}
	})
	return message, ciphertext, nil
}

// samples returns the noise of chunk i, or nil if the parties add none.
func (p *Party) samples(out *sending, i int, buf *scratch) ([]int64, error) {
	from, n := p.bound.ChunkCoordinates(i)
	switch {
	case !p.noisy():
		return nil, nil
	case from+n <= out.noise.ready:
		return out.noise.whole[from : from+n], nil
	}
	if len(buf.samples) < n {
		_, longest := p.bound.ChunkCoordinates(0)
		buf.samples = make([]int64, longest)
	}
	for lo := 0; lo < n; lo += noise.ChunkSamples {
		part := buf.samples[lo:min(n, lo+noise.ChunkSamples)]
		if err := p.noise.FillChunk(part, out.noise.seed, uint64((from+lo)/noise.ChunkSamples)); err != nil {
			return nil, err
		}
	}
	return buf.samples[:n], nil
}

// addNoise sets dst to coordinates of the update with their noise, those from offset at on of
// a chunk that begins at coordinate from. samples is the chunk's noise, or nil. The sums do
// not overflow: the plan's headroom keeps both terms far below 2^62.
func (out *sending) addNoise(dst, samples []int64, from, at int) {
	if samples == nil {
		clear(dst)
		out.update.AddTo(dst, dst, from+at)
		return
	}
	out.update.AddTo(dst, samples[at:], from+at)
}

// sendManifest sends the manifest, which it makes and stores the first time.
func (p *Party) sendManifest() error {
	own := p.own
	if own.manifest == nil {
		if err := p.makeManifest(); err != nil {
			return err
		}
		p.eff.Put("head", own.manifest)
	}
	p.eff.Emit(p.bound.SubjectContribution(p.self, own.round, own.attempt), own.manifest)
	if d := own.out.noise; d.whole != nil {
		p.spare = d.whole // the chunks have the noise now
	}
	own.out = nil
	return nil
}

// secret is the secret of the channel to the k-th compute node in the round of the contribution.
func (p *Party) secret(k int) *channel.Secret { return p.keys.Secret(p.compute(k), p.own.round) }

// compute is the member index of the k-th compute node.
func (p *Party) compute(k int) uint32 { return p.firstNode + uint32(k) }

// context is that of the share of the contribution to the k-th compute node.
func (p *Party) context(k int) protocol.Context {
	return protocol.Context{
		From:    p.self,
		To:      p.compute(k),
		Round:   p.own.round,
		Attempt: p.own.attempt,
		Purpose: protocol.PurposeShare,
		Salt:    p.own.salt,
	}
}

// explicit is the compute node that gets this party's explicit share in a round.
func (p *Party) explicit(round uint32) int {
	return share.ExplicitIndex(int(p.self), int(round), p.computes)
}
