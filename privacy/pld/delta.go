package pld

import (
	"fmt"
	"math"
)

// UpperDelta returns an upper bound on the delta at epsilon >= 0 of the composition of the terms; at most 1.
func UpperDelta(terms []Term, epsilon float64, prec Precision) (float64, error) {
	const first = 1e-6 // a guess: it determines the tails that are cut off and the tilt
	prec, err := check(terms, first, prec)
	if err != nil {
		return 0, err
	}
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return 0, fmt.Errorf("%w: epsilon %v", ErrTerm, epsilon)
	}
	if alone(terms) {
		return math.Min(1, terms[0].deltaAlone(epsilon)), nil
	}
	best, guess := 1.0, first
	var c choice
	var theta float64
	for range 6 {
		c = newChoice(terms, guess)
		theta = c.profile.saddle(epsilon)
		d := c.upperDelta(theta, epsilon, Precision{12, roughBits})
		best = math.Min(best, d)
		if !(d < guess/2) {
			break
		}
		guess = math.Max(d, 1e-200)
	}
	for bits := prec.MaxBits; bits > roughBits; bits -= 2 {
		// More points can cause more round-off than they resolve.
		if d := c.upperDelta(theta, epsilon, Precision{prec.Cells, bits}); d <= best {
			return d, nil
		}
	}
	return best, nil
}

// upperDelta is the bound on a grid.
func (c choice) upperDelta(theta, epsilon float64, prec Precision) float64 {
	s := onGrid(c.terms, c.plan(theta, prec, maxCells), dominate)
	return s.upperDelta(math.Max(0, epsilon-slack(c.terms, c.tail)))
}

// deltaAlone returns the curve of a step, rounded up.
func (t Term) deltaAlone(epsilon float64) float64 {
	if t.Kind == Discrete {
		_, hi := t.Lattice.Delta(epsilon)
		return hi
	}
	_, hi := t.curve(epsilon)
	return hi
}
