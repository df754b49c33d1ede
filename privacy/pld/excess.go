package pld

import (
	"cmp"
	"math"
	"slices"
)

// Cell is a part of the law of a random variable: its mass, and its mean and range given that part.
type Cell struct{ Mass, Mean, Lo, Hi float64 }

// Excess bounds E max(0, X_1 + ... + X_n), from above or from below, for independent copies of a variable
// whose mean is at most 0. The masses of the cells add up to 1 and have a relative error below 10^-11. For
// the upper bound the mass of each cell moves to its ends, and then to the points of a grid, so that means
// are kept: the expectation of a convex function increases. For the lower bound cells are merged at their
// means and then at the points of a grid, to which the least and the largest value belong. The transform has
// at most 2^bits points.
func Excess(cells []Cell, n, bits int, upper bool) float64 {
	f := newSumProfile(cells, n)
	p := f.sumPlan(n, bits, 0.7*f.saddle(0)) // rare large values would dominate under the whole tilt
	lo, hi := spanOf(cells)
	p.step = math.Max(p.step, (hi-lo)/maxCells)
	if upper {
		s := compose([]*pmf{spreadCells(cells, p.step)}, []int{n}, p)
		v, errs := s.excess()
		hi := (v + errs) * math.Exp(s.drift) * (1 + 1e-12)
		if math.IsNaN(hi) { // a factor overflowed
			return math.Inf(1)
		}
		return hi
	}
	s := compose([]*pmf{p.mergeCells(cells)}, []int{n}, p)
	v, errs := s.excess()
	if lo := (v - errs) * math.Exp(-s.drift) * (1 - 1e-12); lo > 0 {
		return lo
	}
	return 0 // also if a factor overflowed
}

// Law returns the law of X_1 + ... + X_n for independent copies of a variable that is merged to the
// points of a grid at its means: positions and masses, which differ from the exact ones of that variable by
// at most far in total.
func Law(cells []Cell, n, bits int) (at, mass []float64, far float64) {
	f := newSumProfile(cells, n)
	p := f.sumPlan(n, bits, 0)
	s := compose([]*pmf{p.mergeCells(cells)}, []int{n}, p)
	for k, m := range s.once {
		if k+1 < len(s.once) {
			m -= s.once[k+1]
		}
		if m > 0 {
			at = append(at, float64(s.first+k)*s.step+s.shift)
			mass = append(mass, m)
		}
	}
	return at, mass, s.roundoff + 2*s.outside + math.Expm1(s.drift) + 4*unit*float64(len(s.once))
}

// spanOf returns the range of the values of all cells.
func spanOf(cells []Cell) (lo, hi float64) {
	lo, hi = cells[0].Lo, cells[0].Hi
	for _, c := range cells {
		lo, hi = math.Min(lo, c.Lo), math.Max(hi, c.Hi)
	}
	return lo, hi
}

// newSumProfile merges cells to a few hundred.
func newSumProfile(cells []Cell, n int) profile {
	const groups = 300
	sorted := slices.Clone(cells)
	slices.SortFunc(sorted, func(a, b Cell) int { return cmp.Compare(a.Mean, b.Mean) })
	f := profile{counts: []float64{float64(n)}, loss: [][]float64{{}}, lnMass: [][]float64{{}}}
	for group := range slices.Chunk(sorted, 1+len(sorted)/groups) {
		mass, sum := 0.0, 0.0
		for _, c := range group {
			mass += c.Mass
			sum += c.Mass * c.Mean
		}
		if mass > 0 {
			f.loss[0] = append(f.loss[0], sum/mass)
			f.lnMass[0] = append(f.lnMass[0], math.Log(mass))
		}
	}
	return f
}

// sumPlan chooses a window for the sum under a tilt.
func (f profile) sumPlan(n, bits int, theta float64) plan {
	p := plan{theta: theta, steps: float64(n)}
	_, _, variance := f.cumulants(0)
	p.step = math.Max(math.Sqrt(variance/float64(n))/1000, f.resolution())
	for range 2 {
		var lo, hi float64
		lo, p.edges[0] = f.reach(p.theta, -1, 4/p.step)
		hi, p.edges[1] = f.reach(p.theta, 1, 4/p.step)
		p.first = lo - 8*p.step
		width := hi - lo + 16*p.step
		p.bits = 8
		for float64(int(1)<<p.bits)*p.step < width && p.bits < bits {
			p.bits++
		}
		p.step = math.Max(p.step, width/float64(int(1)<<p.bits))
	}
	return p
}

func spreadCells(cells []Cell, step float64) *pmf {
	lo, hi := spanOf(cells)
	d := newPMF(lo, hi, step)
	d.err = 1e-11
	put := func(x, mass float64) {
		i := math.Floor(x / step)
		share := x/step - i
		d.put(int(i), mass*(1-share))
		d.put(int(i)+1, mass*share)
	}
	for _, c := range cells {
		share := 1.0
		if c.Hi > c.Lo {
			share = math.Min(1, math.Max(0, (c.Mean-c.Lo)/(c.Hi-c.Lo)))
		}
		put(c.Lo, c.Mass*(1-share))
		put(c.Hi, c.Mass*share)
	}
	return d
}

// mergeCells merges cells at the points of a grid, whose step it coarsens so that the least and the largest
// mean are points: large masses are often there. It begins at the end with more mass, since at the other one
// some of the mass is rounded down.
func (p *plan) mergeCells(cells []Cell) *pmf {
	sorted := slices.Clone(cells)
	slices.SortFunc(sorted, func(a, b Cell) int { return cmp.Compare(a.Mean, b.Mean) })
	lo, hi := sorted[0].Mean, sorted[len(sorted)-1].Mean
	mean := 0.0
	for _, c := range sorted {
		mean += c.Mass * c.Mean
	}
	down := hi-mean < mean-lo
	// The largest mean is just above a point, to which rounding would take it. The least is just below one if
	// the first bin begins there, and otherwise just above one.
	const beside = 1e-7
	points := math.Floor(math.Min(math.Max(1, (hi-lo)/p.step), maxCells))
	shift := lo - beside*p.step
	if hi > lo {
		p.step = (hi - lo) / points
		shift = lo - beside*p.step
		if !down {
			p.step = (hi - lo) / (points + 2*beside)
			shift = lo + beside*p.step
		}
	}
	shift -= math.Floor(shift/p.step) * p.step
	for i := range sorted {
		sorted[i].Mean -= shift
	}
	if down {
		slices.Reverse(sorted)
		for i := range sorted {
			sorted[i].Mean *= -1
		}
	}
	d := mergeSorted(sorted, p.step, down)
	if down {
		slices.Reverse(d.mass)
		d.first = -(d.first + len(d.mass) - 1)
	}
	d.shift, d.err = shift, 1e-11
	return d
}

// mergeSorted merges cells at the multiples of step; what is left at the end is rounded, up if up is set.
func mergeSorted(cells []Cell, step float64, up bool) *pmf {
	at := make([]float64, len(cells))
	for i, c := range cells {
		at[i] = c.Mean
	}
	d := newPMF(at[0], at[len(at)-1], step)
	b := bins{at: at, up: up, cells: math.Inf(1), mass: func(i int) float64 { return cells[i].Mass },
		excess: func(i int, point float64) float64 { return cells[i].Mass * (at[i] - point) }}
	b.fill(d)
	return d
}

// excess returns E max(0, sum) within the window and a bound on its error.
func (s *sum) excess() (value, errs float64) {
	// With l the least position above 0, E max(0, S) is l P(S >= l) plus the sum of step P(S >= l + k step)
	// over k >= 1.
	least := int(math.Floor(-s.shift/s.step)) + 1
	beyond := func(k int) float64 { // P(S >= position k)
		k = max(k, s.first)
		if k-s.first >= len(s.once) {
			return 0
		}
		return s.once[k-s.first] * math.Exp(s.lnM-s.theta*float64(k)*s.step)
	}
	value = (float64(least)*s.step + s.shift) * beyond(least)
	if s.first > least+1 {
		value += float64(s.first-least-1) * s.step * beyond(s.first)
	}
	for k := max(least+1, s.first); k < s.first+len(s.once); k++ {
		value += s.step * beyond(k)
	}
	// A tilted mass t at l > 0 counts t g(l) e^(lnM + theta shift) with g(l) = l e^(-theta l). The errors of
	// the transform have a 2-norm of roundoff over the root of the number of points, and Cauchy's inequality
	// applies.
	most := math.Max(0, s.most+s.shift) + s.step
	roundoff := s.roundoff * most
	if s.theta > 0 {
		peak := 1 / (math.E * s.theta)
		most = math.Min(most, peak)
		squares := 1/(4*math.Pow(s.theta, 3)*s.step) + peak*peak
		roundoff = s.roundoff * math.Min(most, math.Sqrt(squares/float64(len(s.once))))
	}
	errs = (roundoff + s.outside*most) * math.Exp(s.lnM+s.theta*s.shift)
	return value, errs + 8*unit*float64(len(s.once))*value
}
