package shuffle

import (
	"fmt"
	"math"

	"choir/privacy/pld"
)

const (
	maxExact = 1 << 19 // atoms up to which a pair is kept as it is
	cells    = 1 << 18 // on each side of loss 0, for larger pairs
	maxAtoms = 1 << 28 // atoms up to which a pair is computed at all
)

// collector collects the atoms of a pair, amplified by sampling at a rate if that is below 1: the curve
// is that of (rate P + (1-rate) Q, Q) for e^epsilon >= 1 and that of (P, rate Q + (1-rate) P) below
// ([Dissertation], Lemma 7). The losses above 0 are those of the first pair, those below 0 of the
// second, and what is left has loss 0.
type collector struct {
	side     side
	rate     float64
	exact    bool
	list     []pld.Atom
	step     float64
	sums     []cell
	zero     float64 // mass at loss 0
	infinite float64
}

// cell sums the atoms whose losses are between two points of the grid, with compensation.
type cell struct{ p, q, restP, restQ float64 }

// newCollector returns a collector for the given number of atoms with losses up to farthest, before
// amplification.
func newCollector(v side, rate float64, atoms int, farthest float64) *collector {
	c := &collector{side: v, rate: rate, exact: atoms <= maxExact}
	if c.exact {
		return c
	}
	if rate < 1 {
		farthest = math.Log1p(rate * math.Expm1(farthest))
	}
	c.step = math.Max(farthest, 1e-9) / (cells - 2)
	c.sums = make([]cell, 2*cells)
	return c
}

func (c *collector) add(p, q float64) {
	if c.rate < 1 {
		p, q = c.amplify(p, q)
	}
	switch {
	case p == 0:
	case c.exact:
		c.list = append(c.list, pld.Atom{P: p, Q: q})
	case !(q >= 0x1p-1000 && p >= 0x1p-1000):
		c.infinite += p
	default:
		i := int(math.Floor(math.Log(p/q)/c.step)) + cells
		c.sums[min(max(i, 0), len(c.sums)-1)].add(p, q)
	}
}

func (c *collector) amplify(p, q float64) (float64, float64) {
	switch mixed := (1 - c.rate) * (p - q); {
	case p > q:
		// The mirror image, which is also an atom, has the other half of what is left.
		c.zero += mixed / 2
		return q + c.rate*(p-q), q
	case p < q:
		c.zero -= mixed / 2
		return p, p + c.rate*(q-p)
	}
	return p, q
}

func (x *cell) add(p, q float64) {
	s := x.p + p
	t := s - x.p
	x.restP += (x.p - (s - t)) + (p - t)
	x.p = s
	s = x.q + q
	t = s - x.q
	x.restQ += (x.q - (s - t)) + (q - t)
	x.q = s
}

// lattice returns the collected pair. On a grid the atoms of a cell are split over its ends for an
// upper bound, and merged for a lower bound. lost is the mass that was not collected.
func (c *collector) lattice(lost float64) *pld.Lattice {
	list := c.list
	if c.zero > 0 {
		list = append(list, pld.Atom{P: c.zero, Q: c.zero})
	}
	norm := -1 / math.Expm1(-c.step)
	for i, x := range c.sums {
		p, q := x.p+x.restP, x.q+x.restQ
		if p == 0 {
			continue
		}
		if c.side == below {
			list = append(list, pld.Atom{P: p, Q: q})
			continue
		}
		lo, hi := math.Exp(float64(i-cells)*c.step), math.Exp(float64(i-cells+1)*c.step)
		b := math.Min(p, math.Max(0, (p-lo*q)*norm))
		list = append(list, pld.Atom{P: p - b, Q: (p - b) / lo}, pld.Atom{P: b, Q: b / hi})
	}
	if c.side == above {
		c.infinite += lost
	}
	return pld.NewLattice(list, c.infinite)
}

// collect returns the lattice of a mixture.
func collect(v side, rate float64, all []coins, tail, lost float64) (*pld.Lattice, error) {
	atoms, farthest := 0, 0.0
	for i := range all {
		atoms += all[i].atoms(tail)
	}
	if atoms > maxExact {
		atoms = 0
		for i := range all {
			if len(all[i].parts) > few {
				all[i].reduce(v)
			}
			atoms += all[i].atoms(tail)
			farthest = math.Max(farthest, all[i].farthest(tail))
		}
		atoms = max(atoms, maxExact+1)
	}
	if atoms > maxAtoms {
		return nil, fmt.Errorf("%w: %d users have a pair of %d outputs, more than %d: "+
			"a bound for fewer users is valid too", ErrRound, all[0].s, atoms, maxAtoms)
	}
	c := newCollector(v, rate, atoms, farthest)
	for _, x := range all {
		x.each(tail, c.add)
	}
	l := c.lattice(lost + tail)
	l.Cut(tail, bool(v))
	return l, nil
}
