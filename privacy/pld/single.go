package pld

import "math"

// alone reports whether the terms are a single step, whose curve has a closed form.
func alone(terms []Term) bool { return len(terms) == 1 && terms[0].Count == 1 }

// upperAlone returns the least epsilon at which the curve of a step is at most delta, rounded up.
func (t Term) upperAlone(delta float64) float64 {
	if t.Kind == Discrete {
		return t.Lattice.epsilon(delta).Upper
	}
	return crossing(delta, func(e float64) float64 {
		_, hi := t.curve(e)
		return hi
	})
}

// lowerAlone returns the same, rounded down.
func (t Term) lowerAlone(delta float64) float64 {
	if t.Kind == Discrete {
		return t.Lattice.epsilon(delta).Lower
	}
	return (1 - 1e-11) * crossing(delta, func(e float64) float64 {
		lo, _ := t.curve(e)
		return lo
	})
}

// crossing bisects a non-increasing curve to 10^-12 and returns the end at which it is at most delta.
func crossing(delta float64, curve func(epsilon float64) float64) float64 {
	if curve(0) <= delta {
		return 0
	}
	lo, hi := 0.0, 0x1p-40
	for curve(hi) > delta {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-12*hi {
		if mid := (lo + hi) / 2; curve(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// curve encloses H_(e^epsilon)(P||Q) of a step for epsilon >= 0. Losses increase with z, so that
// those above epsilon are a half line from some z on, and the divergence is the mass of the half line
// under P minus e^epsilon times its mass under Q. It is written in masses of short intervals, such as
// that of N(0) on [z - mu, z], so that nothing cancels for small rates and distances. The error from
// rounding z is of second order, since z is the maximum. The padding covers some thirty roundings and
// arguments of exponentials up to epsilon.
func (t Term) curve(epsilon float64) (lo, hi float64) {
	if t.Kind == Amplified {
		t.Kind = Remove // the curve of Amplified for e^epsilon >= 1
	}
	p := t.pieces(1e-300)[0]
	q, mu := t.Rate, t.Mu
	z := p.where(epsilon)
	end := 0.0
	if t.Kind == Add && q < 1 {
		if epsilon >= -math.Log1p(-q)*(1+0x1p-48) { // losses end here
			return 0, 0
		}
		z, end = t.unsure(z)
	}
	plus, minus := q*strip(z-mu, mu), surplus(epsilon, z) // Remove
	switch {
	case t.Kind == Add && epsilon < 1: // in reflected coordinates
		plus = math.Exp(epsilon) * q * strip(z, mu)
	case t.Kind == Replace && epsilon < 1:
		plus, minus = q*strip(z-mu, 2*mu), (1-q)*minus+q*surplus(epsilon, z+mu)
	case t.Kind == Remove && epsilon >= 1: // in the cases from here on the strips would cancel
		plus, minus = (1-q)*above(0, z)+q*above(0, z-mu), above(epsilon, z)
	case t.Kind == Add:
		plus, minus = above(0, z), (1-q)*above(epsilon, z)+q*above(epsilon, z+mu)
	case t.Kind == Replace:
		plus = (1-q)*above(0, z) + q*above(0, z-mu)
		minus = (1-q)*above(epsilon, z) + q*above(epsilon, z+mu)
	}
	pad := 0x1p-45*(plus+minus)*(1+epsilon) + end
	return math.Max(0, plus-minus-pad), math.Min(1, math.Max(0, plus-minus)+pad)
}

// unsure returns z and what its rounding may cost. With Add, in reflected coordinates, e^-loss is 1-q + q u
// with u = e^(-mu z - mu^2/2), and u has an error of 2^-50: next to the end of the losses z is unknown. It is
// taken where u is 2^-50 at least.
func (t Term) unsure(z float64) (at, cost float64) {
	mu, q := t.Mu, t.Rate
	at = math.Min(z, (50*math.Ln2-mu*mu/2)/mu)
	u := math.Exp(-mu*at - mu*mu/2)
	gap := 0x1p-50 / u / mu
	from := math.Max(0, at-gap)
	mass := math.Min(above(0, at-gap), gap*invSqrt2Pi*math.Exp(-from*from/2))
	return at, 0x1p-50 * q / (1 - q + q*u) * mass
}

// above returns e^epsilon P(N(0,1) > z).
func above(epsilon, z float64) float64 {
	if z < 8 {
		return math.Exp(epsilon) * math.Erfc(z/math.Sqrt2) / 2
	}
	// The tail is exp(-z^2/2)/sqrt(2 pi) over a continued fraction.
	f := z
	for k := 60; k > 0; k-- {
		f = z + float64(k)/f
	}
	return math.Exp(epsilon-z*z/2) * invSqrt2Pi / f
}

// surplus returns (e^epsilon - 1) P(N(0,1) > z).
func surplus(epsilon, z float64) float64 { return -math.Expm1(-epsilon) * above(epsilon, z) }

// strip returns P(a < N(0,1) < a + w). Short strips are integrated, since the difference of two nearly
// equal tails would cancel.
func strip(a, w float64) float64 {
	switch {
	case w > 0.5 && a < 0 && a+w > 0:
		return 1 - (math.Erfc(-a/math.Sqrt2)+math.Erfc((a+w)/math.Sqrt2))/2
	case w > 0.5 && a < 0:
		return strip(-a-w, w)
	case w > 0.5:
		return (math.Erfc(a/math.Sqrt2) - math.Erfc((a+w)/math.Sqrt2)) / 2
	}
	rule := sixPoints()
	density := piece{kind: Add, mu: 1, q: 1}
	n := math.Ceil(w * 20 * (1 + math.Abs(a)/16))
	var mass float64
	for k := 0.0; k < n; k++ {
		m, _ := density.stretch(rule, a+w*k/n, w/n/2, 0)
		mass += m
	}
	return mass
}
