package pld

import "math"

// pmf is a privacy loss distribution on the grid: mass[i] at loss (first + i) step + shift.
type pmf struct {
	step     float64
	shift    float64 // from 0 to step; nonzero for lower bounds only
	first    int
	mass     []float64
	infinite float64 // mass at infinite loss
	err      float64 // bound on the relative error of the masses beyond massError
}

// Bounds on the memory and time of the distribution of one step. Merging solves for the end of every
// bin, which takes ten times as long as splitting a cell.
const (
	maxCells  = 1 << 21
	maxMerged = 1 << 17
)

// span returns the range of the losses of a term between its tails.
func (t Term) span(tail float64) (lo, hi float64) {
	if t.Kind == Discrete {
		return t.Lattice.span()
	}
	return span(t.pieces(tail))
}

func span(pieces []piece) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range pieces {
		a, _ := p.at(p.lo)
		b, _ := p.at(p.hi)
		lo, hi = math.Min(lo, a), math.Max(hi, b)
	}
	return lo, hi
}

// finest returns the smallest step with which no term has more than the given number of cells.
func finest(terms []Term, tail float64, cells int) float64 {
	var step float64
	for _, t := range terms {
		lo, hi := t.span(tail)
		step = math.Max(step, (hi-lo)/float64(cells))
	}
	return step
}

// newPMF returns an empty pmf for losses from lo to hi.
func newPMF(lo, hi, step float64) *pmf {
	first := int(math.Floor(lo/step)) - 1
	return &pmf{step: step, first: first, mass: make([]float64, int(math.Ceil(hi/step))-first+3)}
}

func (d *pmf) put(index int, mass float64) { d.mass[index-d.first] += mass }

// dominate discretises a term so that its curve is not below that of the term, and equal to it at
// the grid points.
func dominate(t Term, step, tail float64) *pmf {
	if t.Kind == Discrete {
		return t.Lattice.dominate(step)
	}
	pieces := t.pieces(tail)
	lo, hi := span(pieces)
	d := newPMF(lo, hi, step)
	for _, p := range pieces {
		d.split(p)
		d.infinite += p.high
	}
	if atom := t.atom(); atom > 0 { // the grid may not include 0 otherwise
		d.put(0, atom)
	}
	return d
}

// split moves the mass of each cell to its two ends and preserves its masses under P and Q.
// With b at the upper end: b (1 - e^-step) = P(cell) - e^l Q(cell).
func (d *pmf) split(p piece) {
	l0, _ := p.at(p.lo)
	l1, _ := p.at(p.hi)
	i := int(math.Floor(l0 / d.step))
	d.put(i+1, p.low)                          // rounded up
	end := max(i+1, int(math.Ceil(l1/d.step))) // also if all losses are one grid point
	norm := -1 / math.Expm1(-d.step)
	for z := p.lo; i < end; i++ {
		next := p.hi
		if i+1 < end {
			next = p.where(float64(i+1) * d.step)
		}
		mass, excess := p.integrate(z, next, float64(i)*d.step)
		b := math.Min(mass, math.Max(0, excess*norm))
		d.put(i, mass-b)
		d.put(i+1, b)
		z = next
	}
}

// node is a node of a Gauss-Legendre rule on [-1, 1].
type node struct{ x, w float64 }

// sixPoints returns the rule with six nodes.
func sixPoints() []node {
	return []node{
		{-0.9324695142031521, 0.1713244923791704},
		{-0.6612093864662645, 0.3607615730481386},
		{-0.2386191860831969, 0.4679139345726910},
		{0.2386191860831969, 0.4679139345726910},
		{0.6612093864662645, 0.3607615730481386},
		{0.9324695142031521, 0.1713244923791704},
	}
}

// integrate returns P[a, b] and the integral of P (1 - e^(l - loss)), which is
// P - e^l Q. The relative error of the rule is below 2^-43: that of three nodes is
// (z w)^6 / 2e6 and that of six 2e-16 (z w)^12 on an interval of width w at |z|, and the
// branch points of the mixtures are at distance pi/mu from the real axis.
func (p piece) integrate(a, b, l float64) (mass, excess float64) {
	if !(b > a) {
		return 0, 0
	}
	if b-a < 0.0015 {
		rule := []node{{-0.7745966692414834, 5.0 / 9}, {0, 8.0 / 9}, {0.7745966692414834, 5.0 / 9}}
		return p.stretch(rule, a, (b-a)/2, l)
	}
	rule := sixPoints()
	n := math.Ceil((b - a) / math.Min(0.05, 0.25/p.mu))
	half := (b - a) / n / 2
	for k := 0.0; k < n; k++ {
		m, e := p.stretch(rule, a+2*k*half, half, l)
		mass, excess = mass+m, excess+e
	}
	return mass, excess
}

// stretch applies a rule to [a, a + 2 half].
func (p piece) stretch(rule []node, a, half, l float64) (mass, excess float64) {
	for _, g := range rule {
		loss, density := p.at(a + half*(1+g.x))
		m := g.w * half * density
		mass += m
		excess -= m * math.Expm1(l-loss)
	}
	return mass, excess
}
