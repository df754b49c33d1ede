package pld

import "math"

// discretiser is dominate or merged.
type discretiser func(t Term, step, tail float64) *pmf

// The tails of all steps that are cut off have together at most the share maxCut of delta, and at
// most the mass maxCutMass, at each end. Smaller limits would include losses that are negligible but
// dominate under a tilt.
const (
	maxCut     = 1e-6
	maxCutMass = 1e-12
)

// roughBits is the size of the transform on which a tilt is tried.
const roughBits = 12

// choice selects the tilt, the grid and the window. The bounds hold for every choice.
type choice struct {
	terms   []Term
	delta   float64
	steps   float64 // number of steps of all terms
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

// tilt returns the tilt with the least upper bound on a rough grid, and that bound. The errors of
// a transform are relative to Chernoff's bound e^(K - theta epsilon) at the true epsilon, so that
// the best tilt minimises it. The first guess assumes that Chernoff's bound equals delta, which is far
// from the truth if a few large losses make the tail heavy. The following guesses use the bounds found
// so far.
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

// plan returns the grid and the window for a tilt.
func (c choice) plan(theta float64, prec Precision, cells int) plan {
	p := plan{theta: theta, steps: c.steps, tail: c.tail}
	_, _, variance := c.profile.cumulants(theta)
	// The deviation under the tilt is nearly 0 if the loss is close to its bound, and large if a few
	// large losses dominate, so that it is limited to a range around the deviation without tilt.
	_, _, plain := c.profile.cumulants(0)
	deviation := math.Sqrt(math.Min(math.Max(variance, plain/256), 16*plain) / c.steps)
	least := math.Max(c.profile.resolution(), finest(c.terms, c.tail, cells))
	p.step = math.Max(least, deviation/prec.Cells)
	// If the grid is coarser than requested, it needs a wider window, hence the second pass.
	for range 2 {
		var lo, hi float64
		lo, p.edges[0] = c.profile.reach(theta, -1, 4/p.step)
		hi, p.edges[1] = c.profile.reach(theta, 1, 4/p.step)
		p.first = lo - 8*p.step // for the shift of the discretisation
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
		steps = append(steps, discretise(t, p.step, p.tail))
		counts = append(counts, t.Count)
	}
	return compose(steps, counts, p)
}
