package mcmc

import (
	"fmt"
	"math"
	"strings"
)

const (
	enoughRelaxations = 10  // of a chain: 90 % intervals then hold 81 %
	blurred           = .12 // as drowned, for the place where a chain starts
	drowned           = 0.7 // standard deviation of what the noise adds to a record's log-odds
	rare              = 0.1 // share of a class from which on warnings tell less of the noise
	widthInPhi        = 1.5 // of a posterior in the coordinates phi, about
)

// Outlook warns of what the noise of a plan will do to its posterior, before anybody has signed.
// Empty is nothing to warn of. It assumes the plan's number of records, and the same width in all
// directions.
func Outlook(cfg Config, public Public) string {
	s, err := New(cfg, public)
	if err != nil || public.Variance == 0 {
		return ""
	}
	b := s.(*base)
	g := &geometry{bound: b.cfg.bound(), norm: b.cfg.norm()}
	rounds := float64(cfg.Rounds - cfg.prepared())
	if cfg.Method == Trace {
		// The gradient's noise over the curvature, times a record's norm.
		odds := b.noise(g) / math.Sqrt(rounds) * widthInPhi * widthInPhi * g.norm
		if odds < drowned {
			return rareOutlook(cfg, odds)
		}
		return fmt.Sprintf("noise may drown %d records of %d columns: it moves a record's log-odds by %.2g, "+
			"and more if the classes are unequal; scores may be worse than the classes' frequencies, which a plan "+
			"of [table] counts at the same epsilon; %.2g times the epsilon, or the records, would leave half of %.2g",
			cfg.Records, cfg.Features, odds, 2*odds/drowned, drowned)
	}
	return b.chainOutlook(g, rounds)
}

// chainOutlook warns of the noise in the place where a chain starts, and of a chain that hardly leaves it.
// Equal classes lose odds^2/8 of log-likelihood, and more if one is rare.
func (b *base) chainOutlook(g *geometry, rounds float64) string {
	n := b.relaxations(g, rounds)
	odds := b.noise(g) / math.Sqrt(float64(max(1, b.cfg.LocateRounds))) * widthInPhi * widthInPhi * g.norm
	var said []string
	if odds >= blurred {
		said = append(said, fmt.Sprintf("noise moves a record's log-odds by %.2g where the chain starts: "+
			"predictions may be worse than the classes' frequencies, which a plan of [table] "+
			"counts at the same epsilon", odds))
	}
	if n < enoughRelaxations {
		said = append(said, fmt.Sprintf("under this noise the chain forgets where it was %.2g times in its "+
			"rounds, and should %d times or more: 90 %% intervals will hold about %.0f %% of the weights, and fewer "+
			"if one class is rare", n, enoughRelaxations, 100*held(n)))
	}
	if said == nil {
		return ""
	}
	advice := `take method "trace", which counts the noise`
	if more := max(2, odds/blurred, math.Sqrt(enoughRelaxations/n)); more < 100 {
		advice += fmt.Sprintf(", or %.2g times the epsilon", more)
	}
	return strings.Join(append(said, advice), "; ")
}

// held is the share of weights that 90 % intervals of a chain hold after n relaxations, for a normal
// posterior in which the chain's correlation over a relaxation is 1/e. The mean of the draws, those of the
// last four fifths, has the share v of the posterior's variance, which the draws' own variance lacks.
func held(n float64) float64 {
	t := 0.8 * n
	if t < 1e-3 {
		return 0
	}
	v := 2 * (t + math.Expm1(-t)) / (t * t)
	return math.Erf(1.644854 * math.Sqrt((1-v)/(1+v)/2))
}

// rareOutlook warns of what noise does to unequal classes: with a share p of one, a log-odds has 4 p (1 - p)
// of the curvature that it has with equal ones.
func rareOutlook(cfg Config, odds float64) string {
	share := (1 - math.Sqrt(1-odds/drowned)) / 2
	if share < rare {
		return ""
	}
	return fmt.Sprintf("noise may drown %d records of %d columns if one class has less than %.2g of them: "+
		"scores may then be worse than the classes' frequencies, which a plan of [table] counts at the same "+
		"epsilon; %.2g times the epsilon, or the records, would do down to %.2g", cfg.Records, cfg.Features, share,
		odds/drowned/(4*rare*(1-rare)), rare)
}

// relaxations is the number of times that a chain forgets where it was, by the law of docs/mcmc.md:
// squared jumps of a coordinate over twice the posterior's variance.
func (b *base) relaxations(g *geometry, rounds float64) float64 {
	const variance = widthInPhi * widthInPhi
	accepts := func(jump, noise float64) float64 { return math.Erfc(math.Sqrt((jump/variance + noise) / 8)) }
	d := float64(b.cfg.Features)
	switch m := b.move.(type) {
	case langevin:
		return m.step(g) * rounds / (2 * variance)
	case hmc:
		jump := d * math.Pow(m.step()*float64(b.cfg.Leapfrogs), 2)
		noise := b.noise(g) * b.noise(g) * jump
		return rounds / float64(b.cfg.period()) * jump / d * accepts(0, noise) / (2 * variance)
	case walk:
		step := m.step(g)
		return rounds * step * step / d * accepts(step*step, m.variance(g, step)) / (2 * variance)
	}
	return math.Inf(1)
}
