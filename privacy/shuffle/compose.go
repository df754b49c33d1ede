package shuffle

import (
	"fmt"
	"math"
	"slices"

	"choir/privacy/pld"
)

// Upper bounds the epsilon at delta of all rounds together with other steps from above, adaptively: the
// rounds and steps may be chosen after earlier results. It is infinite if no bound is computed; local
// guarantees then hold.
func Upper(rounds []Round, others []pld.Term, delta float64, prec pld.Precision) (float64, error) {
	tail, err := checked(rounds, delta)
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(rounds, Round.exposed) {
		return math.Inf(1), nil
	}
	if r := rounds[0]; len(rounds) == 1 && len(others) == 0 && r.once() {
		return r.upperOnce(delta, tail, coarse(prec))
	}
	prec = fill(prec, rounds)
	terms, infinite, err := composition(rounds, others, tail, pointsOf(prec))
	if err != nil {
		return 0, err
	}
	if infinite >= delta || len(terms) == 0 {
		return math.Inf(1), nil
	}
	e, err := pld.Upper(terms, delta, prec)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRound, err)
	}
	return e, nil
}

// once reports whether a round is run once and its curve is evaluated directly.
func (r Round) once() bool { return r.Count == 1 && r.Colluders == 0 }

// upperOnce returns the bound on a single round.
func (r Round) upperOnce(delta, tail float64, coarse bool) (float64, error) {
	if r.continuous() {
		return r.reportsOnce(delta, tail, r.rate(), coarse), nil
	}
	m := r.mixture(r.rate(), tail)
	if m.atoms() <= maxAtoms {
		l := m.exact()
		if len(l.Atoms) == 0 {
			return math.Inf(1), nil
		}
		return pld.Upper([]pld.Term{{Kind: pld.Discrete, Count: 1, Lattice: l}}, delta, pld.Precision{})
	}
	if err := m.check(); err != nil {
		return 0, err
	}
	_, hi := m.crossing(delta)
	return hi, nil
}

// lowerOnce returns the lower bound on a single round, of which upper is an upper bound.
func (r Round) lowerOnce(delta, tail, upper float64, coarse bool) (best float64, err error) {
	if r.continuous() {
		return r.attainedOnce(delta, tail, r.rate(), upper, coarse), nil
	}
	if !(r.Kind == RandomisedResponse && r.Categories == 2) {
		m := r.neighbours(r.rate(), tail)
		if m.atoms() > maxAtoms && m.check() == nil {
			lo, _ := m.crossing(delta)
			return lo, nil
		}
	}
	pairs, _, err := r.attained(tail, 0, false)
	if err != nil {
		return 0, err
	}
	best, err = largest(pairs, delta)
	if !(r.Kind == RandomisedResponse && r.Categories == 2 && r.Dummies == 0 && r.rate() == 1) {
		return best, err
	}
	// Some others with the victim's first value hide it less well than none, if they are few.
	t, f := r.law()
	last := best
	for mixed := 1; mixed <= min(maxMixed, (r.Users-1)/2) && err == nil; mixed += 1 + mixed/4 {
		var e float64
		l := listed(alike(r.Users-mixed, t, f, 1, binomial{mixed, t, 1 - t}, tail))
		if e, err = largest([]*pld.Lattice{l, mirrored(l)}, delta); e < last {
			break
		}
		best, last = math.Max(best, e), e
	}
	return best, err
}

// maxMixed is the largest number of others with the victim's first value that is tried.
const maxMixed = 100

// largest returns the largest lower bound of a single step of one of the pairs.
func largest(pairs []*pld.Lattice, delta float64) (best float64, err error) {
	for _, l := range pairs {
		if len(l.Atoms) > 0 {
			e, err := pld.Lower([]pld.Term{{Kind: pld.Discrete, Count: 1, Lattice: l}}, delta, pld.Precision{})
			if err != nil {
				return 0, err
			}
			best = math.Max(best, e)
		}
	}
	return best, nil
}

// exposed reports whether noise is so small against the distance of the values that reports of others hide
// nothing: no bound is computed that would be better than that of a single report.
func (r Round) exposed() bool {
	return r.Kind == Gaussian && r.Sigma < 0.3 || r.Kind == Laplace && r.Eps0 > 20
}

// rate returns the probability that a user is in a sample.
func (r Round) rate() float64 {
	if r.Population == 0 {
		return 1
	}
	return float64(r.Users) / float64(r.Population)
}

// The defaults of the cells of a grid for a composition, and of the points of a curve, of which one deviation
// of the losses has about as many.
const (
	fineCells  = 600
	finePoints = 7 * fineCells
)

// coarsePoints are those below 100 cells, with which bounds lie up to 3 10^-4 above.
const coarsePoints = 140

// coarse reports whether a precision is that of plans and not the default, 0.
func coarse(prec pld.Precision) bool { return 0 < prec.Cells && prec.Cells < 100 }

func pointsOf(prec pld.Precision) int {
	if coarse(prec) {
		return coarsePoints
	}
	return min(finePoints, int(7*prec.Cells))
}

// fill replaces the default of pld.Precision, with which bounds lie up to 10^-5 above. Losses of samples have
// heavier tails and need a finer grid.
func fill(prec pld.Precision, rounds []Round) pld.Precision {
	if prec.Cells == 0 {
		prec.Cells = fineCells
		if slices.ContainsFunc(rounds, func(r Round) bool { return r.Population > 0 || r.selfSampled() }) {
			prec.Cells *= 2
		}
	}
	return prec
}

func checked(rounds []Round, delta float64) (tail float64, err error) {
	if !(delta > 0 && delta < 1) || len(rounds) == 0 {
		return 0, fmt.Errorf("%w: %d rounds at delta %v", ErrRound, len(rounds), delta)
	}
	steps := 0.0
	for _, r := range rounds {
		if err := r.Validate(); err != nil {
			return 0, err
		}
		steps += float64(r.Count)
	}
	return math.Min(1e-7*delta, 1e-13) / steps, nil
}

// Lower returns a lower bound on the epsilon of the rounds, of which upper is an upper bound: the larger of
// those of both directions, each with the victim's values in the same order in all rounds, and of one round
// alone.
func Lower(rounds []Round, delta, upper float64, prec pld.Precision) (float64, error) {
	tail, err := checked(rounds, delta)
	if err != nil {
		return 0, err
	}
	if len(rounds) == 1 && rounds[0].once() {
		return rounds[0].lowerOnce(delta, tail, upper, coarse(prec))
	}
	best := 0.0
	for _, counted := range []bool{false, true} {
		switch continuous := slices.ContainsFunc(rounds, Round.continuous); {
		case counted && !continuous, !counted && slices.ContainsFunc(rounds, Round.exposed):
			continue
		}
		for way := range 2 {
			e, err := lowerWay(rounds, way, counted, delta, tail, upper, prec)
			if err != nil {
				return 0, err
			}
			if best = math.Max(best, e); allSymmetric(rounds) {
				break
			}
		}
	}
	for _, r := range rounds { // how losses of narrow noise add up is seen roughly only
		if r.continuous() && r.Colluders == 0 {
			best = math.Max(best, r.attainedOnce(delta, tail, r.rate(), upper, coarse(prec)))
		}
	}
	return best, nil
}

// lowerWay is Lower for one direction and one kind of pairs.
func lowerWay(rounds []Round, way int, counted bool, delta, tail, upper float64, prec pld.Precision) (
	float64, error) {
	var terms []pld.Term
	far := 0.0
	for _, r := range rounds {
		pairs, x, err := r.attained(tail, upper, counted)
		if err != nil {
			return 0, err
		}
		far += x * float64(r.Count)
		l := pairs[min(way, len(pairs)-1)]
		if len(l.Atoms) > 0 {
			terms = append(terms, pld.Term{Kind: pld.Discrete, Count: r.Count, Lattice: l})
		}
	}
	// A mass of far under P and Q changes delta by at most (1 + e^epsilon) far.
	at := delta
	if far > 0 {
		at += far * (1 + math.Exp(upper))
	}
	if len(terms) == 0 || !(at < 1) {
		return 0, nil
	}
	e, err := pld.Lower(terms, at, fill(prec, rounds))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRound, err)
	}
	return e, nil
}

func allSymmetric(rounds []Round) bool {
	for _, r := range rounds {
		if !r.symmetric() {
			return false
		}
	}
	return true
}
