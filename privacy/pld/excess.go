package pld

import (
	"math"
	"slices"
)

// Cell is a part of the law of a random variable: its mass, and its mean and range given that part.
type Cell struct{ Mass, Mean, Lo, Hi float64 }

// Excess bounds E max(0, X_1 + ... + X_n), from above or from below, for independent copies of a variable
// whose mean is at most 0. The masses of the cells add up to 1 and have a relative error below 10^-11. For
// the upper bound the mass of each cell moves to its ends, and then to the points of a grid, so that means
// are kept: the expectation of a convex function increases. For the lower bound cells are merged at their
// means. The transform has at most 2^bits points.
func Excess(cells []Cell, n, bits int, upper bool) float64 {
	f := newSumProfile(cells, n)
	p := f.sumPlan(n, bits, 0.7*f.saddle(0)) // rare large values would dominate under the whole tilt
	p.limit(cells)
	if upper {
		s := compose([]*pmf{spreadCells(cells, p.step)}, []int{n}, p)
		v, errs := s.excess()
		hi := (v + errs) * math.Exp(s.drift) * (1 + 1e-12)
		if math.IsNaN(hi) { // a factor overflowed
			return math.Inf(1)
		}
		return hi
	}
	s := compose([]*pmf{mergeCells(cells, p.step)}, []int{n}, p)
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
	p.limit(cells)
	s := compose([]*pmf{mergeCells(cells, p.step)}, []int{n}, p)
	for k, m := range s.once {
		if k+1 < len(s.once) {
			m -= s.once[k+1]
		}
		if m > 0 {
			at = append(at, float64(s.first+k)*s.step)
			mass = append(mass, m)
		}
	}
	return at, mass, s.roundoff + 2*s.outside + math.Expm1(s.drift) + 4*unit*float64(len(s.once))
}

// limit coarsens the grid so that the cells span at most maxCells points.
func (p *plan) limit(cells []Cell) {
	lo, hi := cells[0].Lo, cells[0].Hi
	for _, c := range cells {
		lo, hi = math.Min(lo, c.Lo), math.Max(hi, c.Hi)
	}
	p.step = math.Max(p.step, (hi-lo)/maxCells)
}

func newSumProfile(cells []Cell, n int) profile {
	f := profile{counts: []float64{float64(n)}, loss: [][]float64{{}}, lnMass: [][]float64{{}}}
	for _, c := range cells {
		if c.Mass > 0 {
			f.loss[0] = append(f.loss[0], c.Mean)
			f.lnMass[0] = append(f.lnMass[0], math.Log(c.Mass))
		}
	}
	return f
}

// sumPlan chooses a window for the sum under a tilt.
func (f profile) sumPlan(n, bits int, theta float64) plan {
	p := plan{theta: theta, steps: float64(n)}
	_, _, variance := f.cumulants(0)
	p.step = math.Max(math.Sqrt(variance/float64(n))/400, f.resolution())
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
	lo, hi := cells[0].Lo, cells[0].Hi
	for _, c := range cells {
		lo, hi = math.Min(lo, c.Lo), math.Max(hi, c.Hi)
	}
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

func mergeCells(cells []Cell, step float64) *pmf {
	sorted := slices.Clone(cells)
	slices.SortFunc(sorted, func(a, b Cell) int {
		switch {
		case a.Mean < b.Mean:
			return -1
		case a.Mean > b.Mean:
			return 1
		}
		return 0
	})
	at := make([]float64, len(sorted))
	for i, c := range sorted {
		at[i] = c.Mean
	}
	d := newPMF(at[0], at[len(at)-1], step)
	d.err = 1e-11
	b := bins{at: at, mass: func(i int) float64 { return sorted[i].Mass },
		excess: func(i int, point float64) float64 { return sorted[i].Mass * (at[i] - point) }}
	b.fill(d)
	return d
}

// excess returns E max(0, sum) within the window and a bound on its error.
func (s *sum) excess() (value, errs float64) {
	// E max(0, S) is the sum of step P(S >= k step) over k >= 1.
	for k := len(s.once) - 1; k >= 0 && s.first+k >= 1; k-- {
		value += s.once[k] * math.Exp(s.lnM-s.theta*float64(s.first+k)*s.step)
	}
	if s.first > 1 {
		value += float64(s.first-1) * s.once[0] * math.Exp(s.lnM-s.theta*float64(s.first)*s.step)
	}
	// A tilted mass t at l > 0 counts t g(l) e^lnM with g(l) = l e^(-theta l). The errors of the transform
	// have a 2-norm of roundoff over the root of the number of points, and Cauchy's inequality applies.
	most := math.Max(0, s.most) + s.step
	roundoff := s.roundoff * most
	if s.theta > 0 {
		peak := 1 / (math.E * s.theta)
		most = math.Min(most, peak)
		squares := 1/(4*math.Pow(s.theta, 3)*s.step) + peak*peak
		roundoff = s.roundoff * math.Min(most, math.Sqrt(squares/float64(len(s.once))))
	}
	errs = (roundoff + s.outside*most) * math.Exp(s.lnM)
	value *= s.step
	return value, errs + 8*unit*float64(len(s.once))*value
}
