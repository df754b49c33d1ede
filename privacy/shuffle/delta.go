package shuffle

import (
	"fmt"
	"math"
	"slices"

	"choir/privacy/pld"
)

// UpperDelta returns an upper bound on the delta at epsilon > 0 of all rounds together with other steps; at
// most 1. It is what [Upper] inverts, to the precision of the grid.
func UpperDelta(rounds []Round, others []pld.Term, epsilon float64, prec pld.Precision) (float64, error) {
	if slices.ContainsFunc(rounds, Round.exposed) {
		return 1, nil
	}
	best, guess := 1.0, 1e-6
	for range 8 { // the tails that are cut off follow from delta
		d, err := deltaAt(rounds, others, epsilon, guess, prec, true)
		if err != nil {
			return 0, err
		}
		best = math.Min(best, d)
		if !(d < guess/8) {
			break
		}
		guess = math.Max(d, 1e-200)
	}
	d, err := deltaAt(rounds, others, epsilon, guess, prec, false)
	return math.Min(best, d), err
}

// deltaAt is UpperDelta with the tails that belong to a guess.
func deltaAt(rounds []Round, others []pld.Term, epsilon, guess float64, prec pld.Precision, rough bool) (
	float64, error) {
	tail, err := checked(rounds, guess)
	if err != nil {
		return 0, err
	}
	if r := rounds[0]; len(rounds) == 1 && len(others) == 0 && r.once() {
		return r.deltaOnce(epsilon, tail, rough)
	}
	prec = fill(prec, rounds)
	points := pointsOf(prec)
	if rough {
		points, prec = roughPoints, pld.Precision{Cells: 24, MaxBits: 14}
	}
	terms, infinite, err := composition(rounds, others, tail, points)
	if err != nil || len(terms) == 0 {
		return math.Min(1, infinite), err
	}
	d, err := pld.UpperDelta(terms, epsilon, prec)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRound, err)
	}
	return d, nil
}

// roughPoints is the number of points of the curves that are composed to guess a delta.
const roughPoints = 30

// deltaOnce is the bound on a single round.
func (r Round) deltaOnce(epsilon, tail float64, rough bool) (float64, error) {
	if r.continuous() {
		c := r.bounds(r.ratioOf(tail), r.rate())
		d := c.best(epsilon, roughBits)
		if !rough {
			d = math.Min(d, c.curve(fineBits, true)(epsilon))
		}
		return d, nil
	}
	m := r.mixture(r.rate(), tail)
	if m.atoms() <= maxAtoms {
		_, hi := m.exact().Delta(epsilon)
		return hi, nil
	}
	if err := m.check(); err != nil {
		return 0, err
	}
	return m.curve(fromEpsilons(epsilon))[0].delta, nil
}

// composition returns the terms of rounds and other steps, and the mass of the rounds at infinite loss.
func composition(rounds []Round, others []pld.Term, tail float64, points int) (terms []pld.Term,
	infinite float64, err error) {
	terms = slices.Clone(others)
	for _, r := range rounds {
		l, err := r.dominating(tail, points)
		if err != nil {
			return nil, 0, err
		}
		infinite += float64(r.Count) * l.Infinite
		if len(l.Atoms) > 0 {
			terms = append(terms, pld.Term{Kind: pld.Discrete, Count: r.Count, Lattice: l})
		}
	}
	return terms, infinite, nil
}
