package privacy

import "math"

// RenyiEpsilon converts a Renyi guarantee D_alpha <= divergence at one order
// alpha > 1 into epsilon at delta (Canonne, Kamath and Steinke 2020, Proposition 12;
// Asoodeh et al. 2020 and Balle et al. 2020 arrive at the same): divergence + ln(1 - 1/alpha) -
// (ln delta + ln alpha) / (alpha - 1), never below 0. Valid at every order, so a caller may
// minimise over orders as coarsely as it likes.
func RenyiEpsilon(alpha, divergence, delta float64) float64 {
	e := divergence + math.Log1p(-1/alpha) - (math.Log(delta)+math.Log(alpha))/(alpha-1)
	return max(0, e+0x1p-46*(math.Abs(e)+divergence+math.Abs(math.Log(delta))/(alpha-1)))
}

// ZCDPEpsilon converts rho-zCDP, D_alpha <= rho alpha for all alpha > 1, into
// epsilon at delta by the best order.
func ZCDPEpsilon(rho, delta float64) float64 {
	e, _ := bestOrder(delta, func(alpha float64) float64 { return up(alpha * rho) })
	return e
}

// bestOrder minimises RenyiEpsilon over orders in 1 + [e^-9, e^14] by golden section on
// ln(alpha - 1). The objective is unimodal for divergences linear in alpha; for others a
// worse local minimum is still a valid bound.
func bestOrder(delta float64, divergence func(alpha float64) float64) (epsilon, alpha float64) {
	at := func(u float64) float64 {
		a := 1 + math.Exp(u)
		return RenyiEpsilon(a, divergence(a), delta)
	}
	u := minimise(-9, 14, at)
	return at(u), 1 + math.Exp(u)
}

// minimise is golden-section search to about 1e-7 of the bracket.
func minimise(lo, hi float64, f func(float64) float64) float64 {
	const g = 0.6180339887498949
	a, b := hi-g*(hi-lo), lo+g*(hi-lo)
	fa, fb := f(a), f(b)
	for range 60 {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - g*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + g*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a
	}
	return b
}
