package privacy

import "math"

// renyiEpsilon converts a Renyi guarantee D_alpha <= divergence at one order
// alpha > 1 to epsilon at delta ([CKS20], Proposition 12; see also [ALC20] and [BBG20]):
// divergence + ln(1 - 1/alpha) - (ln delta + ln alpha) / (alpha - 1), or 0 if that is negative. It is
// valid at every order, so that a coarse minimisation over orders is valid.
func renyiEpsilon(alpha, divergence, delta float64) float64 {
	e := divergence + math.Log1p(-1/alpha) - (math.Log(delta)+math.Log(alpha))/(alpha-1)
	return max(0, e+0x1p-46*(math.Abs(e)+divergence+math.Abs(math.Log(delta))/(alpha-1)))
}

// zcdpEpsilon converts rho-zCDP, D_alpha <= rho alpha for all alpha > 1, to
// epsilon at delta with the best order.
func zcdpEpsilon(rho, delta float64) float64 {
	return bestOrder(delta, func(alpha float64) float64 { return up(alpha * rho) })
}

// bestOrder minimises renyiEpsilon over orders in 1 + [e^-9, e^14] by golden section on
// ln(alpha - 1). The objective is unimodal if the divergence is linear in alpha; otherwise any local
// minimum is a valid bound.
func bestOrder(delta float64, divergence func(alpha float64) float64) float64 {
	at := func(u float64) float64 {
		a := 1 + math.Exp(u)
		return renyiEpsilon(a, divergence(a), delta)
	}
	return at(minimise(-9, 14, at))
}

// minimise is golden-section search with a tolerance of about 1e-7 of the bracket.
func minimise(lo, hi float64, f func(float64) float64) float64 {
	const g = 0.6180339887498949
	a, b := hi-g*(hi-lo), lo+g*(hi-lo)
	fa, fb := f(a), f(b)
	for range 60 {
		if fa <= fb {
			hi = b
			b, fb = a, fa
			a = hi - g*(hi-lo)
			fa = f(a)
		} else {
			lo = a
			a, fa = b, fb
			b = lo + g*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a
	}
	return b
}
