package pld

import (
	"fmt"
	"math"
	"sort"
)

// latticeError bounds the relative error of the masses of a Lattice.
const latticeError = 0x1p-36

// Atom is an output of a discrete pair, with its masses under P and Q. Both are positive.
type Atom struct{ P, Q float64 }

// Lattice is a discrete pair (P, Q).
type Lattice struct {
	// Atoms has the outputs by increasing loss ln(P/Q). The masses have a relative error below 2^-36.
	Atoms []Atom
	// Infinite is the mass under P of outputs that Q does not have.
	Infinite float64

	loss  []float64
	above []Atom // above[i] is the sum of the atoms from i on
}

// NewLattice returns the lattice of the atoms, which it sorts, drops if they have no mass under P, and
// adds to Infinite if they have none under Q.
func NewLattice(atoms []Atom, infinite float64) *Lattice {
	l := &Lattice{Infinite: infinite}
	var ratio []float64
	for _, a := range atoms {
		switch {
		case !(a.P > 0):
		case a.P >= 0x1p-1000 && a.Q >= 0x1p-1000:
			l.Atoms = append(l.Atoms, a)
			ratio = append(ratio, math.Log(a.P/a.Q))
		default: // also atoms whose ratio could overflow
			l.Infinite += a.P
		}
	}
	l.loss = ratio
	sort.Sort(l)
	l.sum()
	return l
}

// Len, Less and Swap sort the atoms by their losses.
func (l *Lattice) Len() int           { return len(l.Atoms) }
func (l *Lattice) Less(i, j int) bool { return l.loss[i] < l.loss[j] }
func (l *Lattice) Swap(i, j int) {
	l.Atoms[i], l.Atoms[j] = l.Atoms[j], l.Atoms[i]
	l.loss[i], l.loss[j] = l.loss[j], l.loss[i]
}

// Cut removes the losses at each end that have a mass of at most tail together, which are negligible
// but would dominate under a tilt. The upper end moves to an infinite loss for an upper bound and
// disappears for a lower one. The lower end is rounded up, or disappears.
func (l *Lattice) Cut(tail float64, upper bool) {
	total := l.above[0]
	end := sort.Search(len(l.Atoms), func(i int) bool { return l.above[i].P <= tail })
	start := sort.Search(end, func(i int) bool { return total.P-l.above[i+1].P > tail })
	if start >= end {
		return
	}
	if upper {
		l.Infinite += l.above[end].P * (1 + latticeError)
		l.Atoms[start].P += total.P - l.above[start].P
		l.Atoms[start].Q = l.Atoms[start].P * math.Exp(-l.loss[start])
	}
	l.Atoms, l.loss = l.Atoms[start:end], l.loss[start:end]
	l.sum()
}

// sum computes the sums from the top, with compensation.
func (l *Lattice) sum() {
	l.above = make([]Atom, len(l.Atoms)+1)
	var p, q, restP, restQ float64
	for i := len(l.Atoms) - 1; i >= 0; i-- {
		p, restP = compensate(p, restP, l.Atoms[i].P)
		q, restQ = compensate(q, restQ, l.Atoms[i].Q)
		l.above[i] = Atom{p + restP, q + restQ}
	}
}

// compensate adds x to sum, whose rounding errors are collected in rest.
func compensate(sum, rest, x float64) (float64, float64) {
	s := sum + x
	t := s - sum
	return s, rest + (sum - (s - t)) + (x - t)
}

func (l *Lattice) validate() error {
	switch {
	case l == nil:
		return fmt.Errorf("%w: a discrete term without a lattice", ErrTerm)
	case len(l.Atoms) == 0:
		return fmt.Errorf("%w: a lattice without atoms of finite loss", ErrTerm)
	case !(l.Infinite >= 0 && l.above[0].P+l.Infinite < 1+1e-6):
		return fmt.Errorf("%w: a lattice of mass %v and %v", ErrTerm, l.above[0].P, l.Infinite)
	}
	return nil
}

func (l *Lattice) span() (lo, hi float64) { return l.loss[0], l.loss[len(l.loss)-1] }

// Delta encloses H_(e^epsilon)(P||Q).
func (l *Lattice) Delta(epsilon float64) (lo, hi float64) {
	i := sort.Search(len(l.loss), func(i int) bool { return l.loss[i] > epsilon })
	a := l.above[i]
	x := math.Exp(epsilon)
	d := math.Max(0, a.P-x*a.Q)
	// Masses err by a common factor, ratios by a few roundings.
	pad := latticeError*d + 0x1p-47*(a.P+x*a.Q)*(1+epsilon)
	return math.Max(0, d-pad) + l.Infinite*(1-latticeError), d + pad + l.Infinite*(1+latticeError)
}

// Span is an interval that contains an epsilon.
type Span struct{ Lower, Upper float64 }

// epsilon encloses the least epsilon >= 0 of a single step at delta. It is infinite if the mass at
// infinite loss exceeds delta.
func (l *Lattice) epsilon(delta float64) Span {
	if l.Infinite*(1-latticeError) > delta {
		return Span{math.Inf(1), math.Inf(1)}
	}
	side := func(curve func(e float64) float64) float64 {
		if _, top := l.span(); curve(math.Max(0, top)) > delta {
			return math.Inf(1)
		}
		return crossing(delta, curve)
	}
	upper := side(func(e float64) float64 { _, hi := l.Delta(e); return hi })
	lower := crossing(delta, func(e float64) float64 { lo, _ := l.Delta(e); return lo })
	return Span{lower * (1 - 1e-11), upper}
}

// Renyi returns the Renyi divergence of the given order > 1 of P from Q.
func (l *Lattice) Renyi(order float64) float64 {
	if l.Infinite > 0 {
		return math.Inf(1)
	}
	peak := math.Inf(-1)
	for _, x := range l.loss {
		peak = math.Max(peak, (order-1)*x)
	}
	var sum, rest float64
	for i, a := range l.Atoms {
		sum, rest = compensate(sum, rest, a.P*math.Exp((order-1)*l.loss[i]-peak))
	}
	return (peak + math.Log(sum+rest) + 2*latticeError) / (order - 1)
}

// dominate is [dominate] for a lattice: each atom is split over the two grid points next to it.
func (l *Lattice) dominate(step float64) *pmf {
	lo, hi := l.span()
	d := newPMF(lo, hi, step)
	d.infinite, d.err = l.Infinite, latticeError
	norm := -1 / math.Expm1(-step)
	for i, a := range l.Atoms {
		at := int(math.Floor(l.loss[i] / step))
		b := math.Min(a.P, math.Max(0, -a.P*norm*math.Expm1(float64(at)*step-l.loss[i])))
		d.put(at, a.P-b)
		d.put(at+1, b)
	}
	return d
}

// merged is [merged] for a lattice. An atom may be divided between two bins, which is randomised
// merging.
func (l *Lattice) merged(step float64) *pmf {
	lo, hi := l.span()
	d := newPMF(lo, hi, step)
	d.infinite, d.err = l.Infinite, latticeError
	b := bins{at: l.loss, cells: 2, mass: func(i int) float64 { return l.Atoms[i].P },
		excess: func(i int, point float64) float64 { return -l.Atoms[i].P * math.Expm1(point-l.loss[i]) }}
	b.fill(d)
	return d.useful()
}

// bins merges points, by increasing position, into bins that balance at the points of a grid.
type bins struct {
	at     []float64
	mass   func(i int) float64
	excess func(i int, point float64) float64 // what a point weighs against a grid point, by its sign
	cells  float64                            // how far above a point of the grid those that balance it may be
	up     bool                               // round up what does not balance
}

func (b bins) fill(d *pmf) {
	rest := 1.0 // share of point i that is in no bin yet
	for i := 0; i < len(b.at); {
		i, rest = b.one(d, i, rest)
	}
}

// one fills one bin from point i on, of which the share rest is left. If the points that may balance it do
// not, the positions of all are rounded.
func (b bins) one(d *pmf, i int, rest float64) (next int, left float64) {
	grid := int(math.Floor(b.at[i]/d.step)) + 1
	point := float64(grid) * d.step
	var mass, lack float64
	first, whole := i, rest
	for ; i < len(b.at) && b.at[i] < point+b.cells*d.step; i++ {
		m, excess := rest*b.mass(i), rest*b.excess(i, point)
		if excess > 0 && excess >= lack {
			share := lack / excess * (1 + 1e-13)
			if share < 1 {
				d.put(grid, mass+share*m)
				return i, rest * (1 - share)
			}
			d.put(grid, mass+m)
			return i + 1, 1
		}
		mass += m
		lack -= excess
		rest = 1
	}
	round := math.Floor
	if b.up {
		round = math.Ceil
	}
	for k := first; k < i; k++ {
		d.put(int(round(b.at[k]/d.step)), whole*b.mass(k))
		whole = 1
	}
	return i, 1
}

// add appends a lattice's losses in a few hundred groups, with their masses.
func (f *profile) add(t Term) {
	l := t.Lattice
	size := max(1, len(l.Atoms)/2048)
	var loss, lnMass []float64
	for i := 0; i < len(l.Atoms); i += size {
		end := min(i+size, len(l.Atoms))
		if p := l.above[i].P - l.above[end].P; p > 0 {
			loss = append(loss, l.loss[(i+end-1)/2])
			lnMass = append(lnMass, math.Log(p))
		}
	}
	f.counts = append(f.counts, float64(t.Count))
	f.loss = append(f.loss, loss)
	f.lnMass = append(f.lnMass, lnMass)
}
