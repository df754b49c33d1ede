package shuffle

import (
	"fmt"
	"math"

	"choir/privacy/pld"
)

const (
	maxAtoms = 1 << 19 // atoms up to which a pair is kept as it is
	maxParts = 1 << 29 // terms up to which the curve of a larger pair is computed
)

// mixture is a pair as a list of mixtures of tosses, without tails: lost bounds their mass. cut is the mass
// that each toss may lose in addition.
type mixture struct {
	side      side
	rate      float64 // probability that the victim is in the sample
	all       []coins
	cut, lost float64
	points    int // of the curve of a large pair, if it is composed
}

// atoms returns the number of outputs.
func (m mixture) atoms() (n int) {
	for _, c := range m.all {
		n += c.atoms(m.cut)
	}
	return n
}

// check returns an error if the curve of the mixture takes too long to compute.
func (m mixture) check() error {
	n := 0
	for _, c := range m.all {
		n += len(c.parts)
		if c.s > 0 {
			n += int(8 * math.Sqrt(float64(c.s)))
		}
	}
	if n > maxParts {
		return fmt.Errorf("%w: the bound is a sum of %d terms, more than %d: "+
			"a bound for fewer users is valid too", ErrRound, n, maxParts)
	}
	return nil
}

// lattice returns the mixture as a lattice: exactly if it has few outputs, and otherwise from its curve.
func (m mixture) lattice() (*pld.Lattice, error) {
	if m.atoms() <= maxAtoms {
		return m.exact(), nil
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	points := m.grid()
	if m.side == below {
		return merged(points), nil
	}
	return chords(points), nil
}

// exact lists all outputs, amplified by sampling if the rate is below 1: the curve is that of (rate P +
// (1-rate) Q, Q) for e^epsilon >= 1 and that of (P, rate Q + (1-rate) P) below ([Dissertation], Lemma 7).
// The losses above 0 are those of the first pair, those below 0 of the second, and what is left has loss 0.
func (m mixture) exact() *pld.Lattice {
	var list []pld.Atom
	zero := 0.0
	for _, c := range m.all {
		c.each(m.cut, func(p, q float64) {
			if m.rate < 1 {
				// The mirror image, which is also an atom, has the other half of what is left.
				zero += (1 - m.rate) * math.Abs(p-q) / 2
				if p > q {
					p = q + m.rate*(p-q)
				} else {
					q = p + m.rate*(q-p)
				}
			}
			if p > 0 {
				list = append(list, pld.Atom{P: p, Q: q})
			}
		})
	}
	if zero > 0 {
		list = append(list, pld.Atom{P: zero, Q: zero})
	}
	infinite := 0.0
	if m.side == above {
		infinite = m.lost + m.cut
	}
	l := pld.NewLattice(list, infinite)
	l.Cut(m.cut, bool(m.side))
	return l
}

// momentCells is the number of cells of losses above 0 in Listed.
const momentCells = 1 << 15

// Listed returns a pair that dominates one round without sampling, for its moments: outputs are listed down
// to a mass about tail, and divided over the ends of cells of losses. What is left out is at infinite loss.
func (r Round) Listed(tail float64) (*pld.Lattice, error) {
	m := r.mixture(1, tail)
	if n := m.atoms(); n > maxParts {
		return nil, fmt.Errorf("%w: %d outputs, more than %d", ErrRound, n, maxParts)
	}
	farthest := 1e-9
	for _, c := range m.all {
		farthest = math.Max(farthest, c.farthest(m.cut))
	}
	step := farthest / (momentCells - 1)
	sums := make([]pld.Atom, 2*momentCells)
	infinite := m.lost + m.cut
	for _, c := range m.all {
		c.each(m.cut, func(p, q float64) {
			switch {
			case p == 0:
			case q == 0:
				infinite += p
			default:
				i := int(math.Floor(math.Log(p/q)/step)) + momentCells
				i = min(max(i, 0), len(sums)-1)
				sums[i].P += p
				sums[i].Q += q
			}
		})
	}
	var list []pld.Atom
	for i, x := range sums {
		if x.P > 0 {
			lo, hi := math.Exp(float64(i-momentCells)*step), math.Exp(float64(i-momentCells+1)*step)
			b := math.Min(x.P, math.Max(0, (x.P-lo*x.Q)/-math.Expm1(-step)))
			list = append(list, pld.Atom{P: x.P - b, Q: (x.P - b) / lo}, pld.Atom{P: b, Q: b / hi})
		}
	}
	return pld.NewLattice(list, infinite), nil
}
