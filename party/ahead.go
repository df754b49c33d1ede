package party

import (
	"choir/crypto/noise"
	"choir/internal/parallel"
	"choir/protocol"
)

// defaultAhead is up to how many coordinates noise is drawn ahead, 8 bytes each.
const defaultAhead = 1 << 20

// aheadChunks is how many chunks of noise a step draws at most: a few milliseconds'
// work for a core or two, behind which whatever else came is taken in.
const aheadChunks = 4

// drawn is the noise of one contribution: a seed that has never been used, and what
// it expands to, as far as that is there; the rest is made chunk by chunk when it is
// needed. It lives in memory only. A crash, or the end of the plan, throws it away; what
// it was for gets other noise.
type drawn struct {
	seed  noise.Seed
	whole []int64 // nil: none of it was made ahead
	ready int     // how many coordinates of whole are there, from the front
}

// prepare draws the noise of the next contribution while this party has nothing else
// to do: no attempt is open that it knows of and nothing is on its way. So the time
// that sampling takes, which depends on the samples, passes before the request that
// they are for, and doesn't show in the answer. It is drawn a few chunks a step, the
// first while others join: a round's opening finds it there.
//
// A party that has contributed waits until a node signed the set that counts: then all
// contributions are where they belong, and what is left of the round is the nodes'
// and the aggregator's work. Parties that share a machine don't delay each other's so.
func (p *Party) prepare() {
	busy := len(p.eff.Send) > 0 || p.open != nil || (p.own != nil && (p.own.out != nil || len(p.agrees[p.own.pair]) == 0))
	if busy || !p.noisy() || int(p.bound.Plan.Dim) > p.cfg.Ahead || p.last() {
		return
	}
	if p.nextNoise == nil {
		d, err := p.draw()
		if err != nil {
			p.finish(err)
			return
		}
		d.whole = p.cfg.Room.forNoise(d, int(p.bound.Plan.Dim))
		p.nextNoise = d
	}
	if p.nextNoise.ready == len(p.nextNoise.whole) || !p.cfg.Room.has(p.nextNoise) {
		return
	}
	if err := p.fill(p.nextNoise); err != nil {
		p.finish(err)
		return
	}
	if p.nextNoise.ready < len(p.nextNoise.whole) {
		p.eff.Wake = p.now // there is more
	}
}

// fill makes the next chunks of the noise.
func (p *Party) fill(d *drawn) error {
	from := d.ready / noise.ChunkSamples
	n := min(aheadChunks, (len(d.whole)-d.ready+noise.ChunkSamples-1)/noise.ChunkSamples)
	err := parallel.Try(n, func(i int) error {
		at := (from + i) * noise.ChunkSamples
		return p.noise.FillChunk(d.whole[at:min(at+noise.ChunkSamples, len(d.whole))], d.seed, uint64(from+i))
	})
	d.ready = min((from+n)*noise.ChunkSamples, len(d.whole))
	return err
}

// noisy: it is the parties who add the noise.
func (p *Party) noisy() bool { return p.bound.Plan.Noise == protocol.NoiseParty }

// last: no attempt can follow the one contributed to.
func (p *Party) last() bool {
	return p.latest.round == p.bound.Plan.Rounds && p.bound.Plan.SpareAttempts == 0
}

// take is noise for one contribution and no other: what was drawn ahead, or a fresh
// seed.
func (p *Party) takeNoise() (*drawn, error) {
	d := p.nextNoise
	p.nextNoise = nil
	if d != nil || !p.noisy() {
		return d, nil
	}
	return p.draw()
}

// draw reads a fresh seed.
func (p *Party) draw() (*drawn, error) {
	if err := p.makeSampler(); err != nil {
		return nil, err
	}
	seed, err := noise.NewSeed(p.cfg.Rand)
	return &drawn{seed: seed}, err
}

// makeSampler builds the sampler's tables, once a life: they take longer than a
// sample.
func (p *Party) makeSampler() (err error) {
	if p.noise == nil {
		p.noise, err = noise.NewGaussian(p.bound.Plan.Variance)
	}
	return err
}
