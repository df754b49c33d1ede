package party

import (
	"choir/crypto/noise"
	"choir/protocol"
)

// defaultAhead is up to how many coordinates noise is drawn ahead, 8 bytes each.
const defaultAhead = 1 << 20

// drawn is the noise of one contribution: a seed that has never been used, and what
// it expands to, nil when that is made chunk by chunk. It lives in memory only. A
// crash, or the end of the plan, throws it away; what it was for gets other noise.
type drawn struct {
	seed  noise.Seed
	whole []int64
}

// prepare draws the noise of the next contribution while this party has nothing else
// to do: no attempt is open that it knows of and nothing is on its way. So the time
// that sampling takes, which depends on the samples, passes before the request that
// they are for, and doesn't show in the answer.
func (p *Party) prepare() {
	busy := len(p.eff.Send) > 0 || p.want != nil || (p.mine != nil && p.mine.out != nil)
	if busy || p.next != nil || len(p.links) < p.m+1 || !p.noisy() || int(p.s.Plan.Dim) > p.cfg.Ahead || p.last() {
		return
	}
	d, err := p.draw(true)
	if err != nil {
		p.finish(err)
		return
	}
	p.next = d
}

// noisy: it is the parties who add the noise.
func (p *Party) noisy() bool { return p.s.Plan.Noise == protocol.NoiseParty }

// last: no attempt can follow the one contributed to.
func (p *Party) last() bool {
	return p.did.round == p.s.Plan.Rounds && p.s.Plan.SpareAttempts == 0
}

// take is noise for one contribution and no other: what was drawn ahead, or a fresh
// seed.
func (p *Party) takeNoise() (*drawn, error) {
	d := p.next
	p.next = nil
	if d != nil || !p.noisy() {
		return d, nil
	}
	return p.draw(false)
}

// draw reads a fresh seed, and expands it.
func (p *Party) draw(expand bool) (*drawn, error) {
	if err := p.makeSampler(); err != nil {
		return nil, err
	}
	d := new(drawn)
	var err error
	if d.seed, err = noise.NewSeed(p.cfg.Rand); err != nil || !expand {
		return d, err
	}
	d.whole = make([]int64, p.s.Plan.Dim)
	return d, p.noise.FillSeeded(d.whole, d.seed)
}

// makeSampler builds the sampler's tables, once a life: they take longer than a
// sample.
func (p *Party) makeSampler() (err error) {
	if p.noise == nil {
		p.noise, err = noise.NewGaussian(p.s.Plan.Variance)
	}
	return err
}
