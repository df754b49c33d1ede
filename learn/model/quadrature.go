package model

import "math"

// logExpectSigmoid is log E[sigma(a)] for a ~ N(mu, v), v >= 0: the log of a
// logistic model's predictive probability. Unlike sigmoidMoments it is accurate in
// relative terms, to about 1e-11, so that a confident mistake is charged its true
// price.
//
// The trapezoidal rule in standard units converges geometrically: for a step of h
// the error is of the order exp(-2 pi^2 / (h s)) from the logistic poles at
// distance pi/s off the real axis (s^2 = v), and exp(-2 pi^2 / h^2) from the
// Gaussian (Trefethen and Weideman, "The exponentially convergent trapezoidal
// rule", 2014). The number of nodes therefore grows with s; it is some tens in
// practice.
func logExpectSigmoid(mu, v float64) float64 {
	if v == 0 {
		return logSigmoid(mu)
	}
	s := math.Sqrt(v)
	lo, hi, h := gridFor(mu, s)
	var sum, top float64
	top = math.Inf(-1)
	for z := lo; z <= hi; z += h {
		// Terms rise and fall once, so rescaling by the running maximum is cheap.
		t := logSigmoid(mu+s*z) - z*z/2
		if t > top {
			sum, top = sum*math.Exp(top-t)+1, t
		} else {
			sum += math.Exp(t - top)
		}
	}
	return math.Min(0, top+math.Log(sum*h)-0.5*math.Log(2*math.Pi))
}

// sigmoidSD is the standard deviation of sigma(a) for a ~ N(mu, v), v >= 0, on the
// grid of logExpectSigmoid. The deviations are summed as they are, so a small
// result keeps its relative accuracy, which the difference of two moments would
// lose.
func sigmoidSD(mu, v float64) float64 {
	if v == 0 {
		return 0
	}
	s := math.Sqrt(v)
	lo, hi, h := gridFor(mu, s)
	var mass, first, second float64
	center := math.Exp(logSigmoid(mu))
	for z := lo; z <= hi; z += h {
		w, d := math.Exp(-z*z/2), math.Exp(logSigmoid(mu+s*z))-center
		mass += w
		first += w * d
		second += w * d * d
	}
	first, second = first/mass, second/mass
	return math.Sqrt(max(0, second-first*first))
}

// gridFor returns the range and the step of the standardised grid. The integrand's peak is
// between 0 and s, and not beyond the point where the sigmoid becomes flat; nine standard
// units on either side contain all but 1e-18 of it.
func gridFor(mu, s float64) (lo, hi, h float64) {
	shift := 0.0
	if mu < 0 {
		shift = math.Min(s, -mu/s)
	}
	return -9, shift + 9, math.Min(0.4, 0.7/s)
}

func logSigmoid(a float64) float64 {
	if a >= 0 {
		return -math.Log1p(math.Exp(-a))
	}
	return a - math.Log1p(math.Exp(a))
}
