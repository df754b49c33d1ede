package privacy

import (
	"fmt"
	"math"

	"choir/privacy/pld"
	"choir/privacy/shuffle"
)

// SolveDelta returns the least delta, to a relative 10^-7 and rounded up, at which the epsilon of the
// query is at most the target. It ignores q.Delta. Errors: those of Account.
func SolveDelta(q Query, epsilon float64) (float64, Answer, error) {
	delta, err := leastDelta(epsilon, func(delta float64) (float64, error) {
		q.Delta = delta
		a, err := upperBound(q)
		return a.Epsilon, err
	})
	if err != nil {
		return 0, Answer{}, err
	}
	q.Delta = delta
	a, err := Account(q)
	return delta, a, err
}

// SolveDelta returns the query with the least delta at which epsilon is proven, rounded up, and its answer.
// It ignores q.Delta.
func (q ShuffleQuery) SolveDelta(epsilon float64) (ShuffleQuery, Answer, error) {
	rounds, name, err := q.proven()
	if err != nil {
		return q, Answer{}, err
	}
	if err := validateEpsilon(epsilon); err != nil {
		return q, Answer{}, err
	}
	a := Answer{Epsilon: epsilon, Accountant: name, Assumptions: q.assumptions()}
	if name == accountantClosedForm || name == AccountantRDP {
		q.Delta, err = leastDelta(epsilon, func(delta float64) (float64, error) {
			q.Delta = delta
			a, err := q.upper()
			return a.Epsilon, err
		})
	} else {
		q.Delta, err = q.deltaAt(rounds, &a)
	}
	if err != nil {
		return q, Answer{}, err
	}
	lower, err := shuffle.Lower(q.Rounds, q.Delta, epsilon, q.Precision)
	if err != nil {
		return q, Answer{}, reject("%v", err)
	}
	a.LowerBound = math.Min(lower, epsilon)
	return q, a, nil
}

// deltaAt returns the least delta at which the epsilon of an answer is proven, and sets its accountant.
func (q ShuffleQuery) deltaAt(rounds []shuffle.Round, a *Answer) (float64, error) {
	others, err := dominating(q.Gaussians, ReplaceOne, pld.Remove)
	if err != nil {
		return 0, err
	}
	delta := 0.0
	pure, mu := q.local()
	if q.Accountant != "" || pure > a.Epsilon {
		if delta, err = shuffle.UpperDelta(rounds, others, a.Epsilon, q.Precision); err != nil {
			return 0, reject("%v", err)
		}
	}
	if d := GaussianDelta(mu, a.Epsilon); q.Accountant == "" && d < delta {
		delta, a.Accountant = d, accountantLocal
	}
	switch delta *= 1 + 1e-12; {
	case delta < MinDelta:
		return 0, everyDelta(a.Epsilon)
	case !(delta < mostDelta):
		return 0, noDelta(a.Epsilon)
	}
	return delta, nil
}

// mostDelta is the largest delta that is considered.
const mostDelta = 1 - 1e-9

func noDelta(epsilon float64) error {
	return fmt.Errorf("%w: epsilon %v holds at no delta below 1", ErrUnreachable, epsilon)
}

func everyDelta(epsilon float64) error {
	return fmt.Errorf("%w: epsilon %v holds at every delta down to %v", ErrUnreachable, epsilon, MinDelta)
}

// leastDelta finds the least delta at which upper is at most epsilon. An error of upper counts as more, but
// for the largest delta.
func leastDelta(epsilon float64, upper func(delta float64) (float64, error)) (float64, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	const tolerance = 1e-7
	above := func(x float64) float64 { // by the logarithm of delta
		e, err := upper(max(math.Exp(x), MinDelta))
		if err != nil {
			return math.Inf(1)
		}
		return e - epsilon
	}
	hi := math.Log(mostDelta)
	e, err := upper(mostDelta)
	if err != nil {
		return 0, err
	}
	top := e - epsilon
	if !(top <= 0) {
		return 0, noDelta(epsilon)
	}
	lo, bottom := hi, top
	for width := 2.0; bottom <= 0; width *= 2 {
		hi, top = lo, bottom
		if lo == math.Log(MinDelta) {
			return 0, everyDelta(epsilon)
		}
		lo = max(hi-width, math.Log(MinDelta))
		bottom = above(lo)
	}
	for n := 1; hi-lo > tolerance; n++ {
		// The secant with halved ends (Illinois), and half of the interval where that is far from linear.
		x := (lo + hi) / 2
		if n%4 > 0 && !math.IsInf(bottom, 1) && top < 0 {
			x = min(max(hi-(hi-lo)*top/(top-bottom), lo+tolerance/4), hi-tolerance/4)
		}
		if v := above(x); v <= 0 {
			hi, top, bottom = x, v, bottom/2
		} else {
			lo, bottom, top = x, v, top/2
		}
	}
	return math.Exp(hi), nil
}
