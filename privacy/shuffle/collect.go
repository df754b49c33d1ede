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
