package party

import (
	"choir/crypto/noise"
	"choir/internal/parallel"
	"choir/protocol"
)

// defaultAhead is the default of Config.Ahead.
const defaultAhead = 1 << 20

// aheadChunks is the number of chunks of noise that a step draws, a few milliseconds of work
// on one or two cores, so that messages do not wait long.
const aheadChunks = 4

// drawn is the randomness of one contribution: a seed that was never used before, and the first
// samples of its expansion, if the parties add the noise. The rest is drawn chunk by chunk when it
// is needed. The contribution's salt follows from the seed. It is kept in memory only: a crash or
// the end of the plan discards it, and another seed takes its place.
type drawn struct {
	seed  noise.Seed
	whole []int64 // memory for all samples; nil if none is drawn ahead
	ready int     // whole[:ready] is drawn
}

// prepare draws the noise of the next contribution while no known attempt is open and nothing
// is being sent. The time that sampling takes depends on the samples; drawn before the
// request, it does not show in the time to answer. A step draws a few chunks, the first of
// them while the other members join.
//
// After a contribution the party waits for all receipts, so that parties that share a machine do
// not delay each other's contributions much.
func (p *Party) prepare() {
	if p.busy() || !p.noisy() || int(p.bound.Plan.Dim) > p.cfg.Ahead || p.last() {
		return
	}
	if p.nextNoise == nil {
		d, err := p.draw()
		if err != nil {
			p.finish(err)
			return
		}
		d.whole = make([]int64, p.bound.Plan.Dim)
		p.nextNoise = d
	}
	if p.nextNoise.ready == len(p.nextNoise.whole) {
		return
	}
	if err := p.fill(p.nextNoise); err != nil {
		p.finish(err)
		return
	}
	if p.nextNoise.ready < len(p.nextNoise.whole) {
		p.eff.Wake = p.now // there is more to draw
	}
}

// busy reports whether drawing noise now would delay a contribution.
func (p *Party) busy() bool {
	if len(p.eff.Send) > 0 || p.open != nil {
		return true
	}
	return p.own != nil && (p.own.out != nil || p.waiting())
}

// fill draws the next chunks of the noise.
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

// noisy reports whether the parties add the noise.
func (p *Party) noisy() bool { return p.bound.Plan.Noise == protocol.NoiseParty }

// last reports whether the latest attempt is the last one of the plan.
func (p *Party) last() bool {
	return p.latest.round == p.bound.Plan.Rounds && p.bound.Plan.SpareAttempts == 0
}

// takeNoise returns noise for one contribution: the noise drawn ahead, or a fresh seed.
func (p *Party) takeNoise() (*drawn, error) {
	d := p.nextNoise
	p.nextNoise = nil
	if d != nil {
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

// makeSampler builds the sampler's tables when they are first needed.
func (p *Party) makeSampler() (err error) {
	if p.noise == nil && p.noisy() {
		p.noise, err = noise.NewGaussian(p.bound.Plan.Variance)
	}
	return err
}
