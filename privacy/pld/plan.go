package pld

import "math"

// discretiser is dominate or merged.
type discretiser func(t Term, step, tail float64) *pmf

// All steps' tails together are cut off at this share of delta at each end, and at this mass. Less
// would let losses in that are never seen and yet weigh most under a tilt.
const (
	maxCut     = 1e-6
	maxCutMass = 1e-12
)

// roughBits is the size of the transform on which a tilt is tried.
const roughBits = 12

// choice is what tilt, grid and window are chosen by. Whatever is chosen, the bounds hold.
type choice struct {
	terms   []Term
	delta   float64
	steps   float64 // of all terms
	tail    float64 // mass that one step may cut at each end
	profile profile
}

func newChoice(terms []Term, delta float64) choice {
	c := choice{terms: terms, delta: delta}
	for _, t := range terms {
		c.steps += float64(t.Count)
	}
	c.tail = math.Min(maxCut*delta, maxCutMass) / c.steps
	c.profile = newProfile(terms, c.tail)
	return c
}

// tilt is the one that gave the least upper bound on a rough grid, and that bound. The errors of
// a transform are measured by Chernoff's bound e^(K - theta epsilon) at the true epsilon, so that
// the tilt wanted is where this is least. The first guess takes Chernoff's bound for delta
// itself, which is far from the truth where a few large losses make the tail heavy; from there it
// follows the bounds that it gets.
func (c choice) tilt() (best, least float64) {
	theta := c.profile.tilt(c.delta)
	best, least = theta, math.Inf(1)
	for range 6 {
		p := c.plan(theta, Precision{12, roughBits}, maxCells)
		e := onGrid(c.terms, p, dominate).invert(c.delta)
		if !(e < least*(1-1e-3)) {
			break
		}
		best, least = theta, e
		theta = c.profile.saddle(e)
	}
	return best, least
}

// plan sets grid and window for a tilt.
func (c choice) plan(theta float64, prec Precision, cells int) plan {
	p := plan{theta: theta, steps: c.steps, tail: c.tail}
	_, _, variance := c.profile.cumulants(theta)
	// A loss near its own bound has next to no deviation left: don't follow it down. Nor up,
	// where a few large losses deviate for all the others.
	_, _, plain := c.profile.cumulants(0)
	deviation := math.Sqrt(math.Min(math.Max(variance, plain/256), 16*plain) / c.steps)
	least := math.Max(c.profile.resolution(), finest(c.terms, c.tail, cells))
	p.step = math.Max(least, deviation/prec.Cells)
	// A coarser grid than wished for needs a wider window, hence the second pass.
	for range 2 {
		var lo, hi float64
		lo, p.edges[0] = c.profile.reach(theta, -1, 4/p.step)
		hi, p.edges[1] = c.profile.reach(theta, 1, 4/p.step)
		p.first = lo - 8*p.step // room for the discretisation's own shift
		width := hi - lo + 16*p.step
		for p.bits = 8; float64(int(1)<<p.bits)*p.step < width; p.bits++ {
			if p.bits >= prec.MaxBits {
				p.step = width / float64(int(1)<<p.bits)
				break
			}
		}
	}
	return p
}

func onGrid(terms []Term, p plan, discretise discretiser) *sum {
	var steps []*pmf
	var counts []int
	for _, t := range terms {
		steps, counts = append(steps, discretise(t, p.step, p.tail)), append(counts, t.Count)
	}
	return compose(steps, counts, p)
}
