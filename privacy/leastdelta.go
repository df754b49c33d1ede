package privacy

import (
	"fmt"
	"math"
)

// SolveDelta returns the least delta, to a relative 10^-7 and rounded up, at which the epsilon of the query
// is at most the target. It ignores q.Delta.
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

// SolveDelta returns the query with the least delta at which epsilon is at most the target, and its answer,
// as the function [SolveDelta].
func (q ShuffleQuery) SolveDelta(epsilon float64) (ShuffleQuery, Answer, error) {
	delta, err := leastDelta(epsilon, func(delta float64) (float64, error) {
		q.Delta = delta
		a, err := q.upper()
		return a.Epsilon, err
	})
	if err != nil {
		return q, Answer{}, err
	}
	q.Delta = delta
	a, err := q.Answer()
	return q, a, err
}

// leastDelta finds the least delta at which upper is at most epsilon. An error of upper counts as more, but
// for the largest delta.
func leastDelta(epsilon float64, upper func(delta float64) (float64, error)) (float64, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	const most, tolerance = 1 - 1e-9, 1e-7
	above := func(x float64) float64 { // by the logarithm of delta
		e, err := upper(max(math.Exp(x), MinDelta))
		if err != nil {
			return math.Inf(1)
		}
		return e - epsilon
	}
	hi := math.Log(most)
	e, err := upper(most)
	if err != nil {
		return 0, err
	}
	top := e - epsilon
	if !(top <= 0) {
		return 0, fmt.Errorf("%w: epsilon %v holds at no delta below 1", ErrUnreachable, epsilon)
	}
	lo, bottom := hi, top
	for width := 2.0; bottom <= 0; width *= 2 {
		hi, top = lo, bottom
		if lo == math.Log(MinDelta) {
			return 0, fmt.Errorf("%w: epsilon %v holds at every delta down to %v", ErrUnreachable, epsilon, MinDelta)
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
