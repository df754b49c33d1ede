package privacy

import "math"

// This file has bounds for sampling that hold for every mechanism with a given Renyi curve, at
// integer orders. For (nearly) Gaussian mechanisms package pld is much tighter.

// poissonRenyi bounds the Renyi divergence, at an integer order alpha >= 2, of a mechanism with the
// given curve on a Poisson sample of rate q, for add-remove neighbours ([ZW19]). The curve must hold
// for both directions.
func poissonRenyi(curve func(alpha float64) float64, q float64, alpha int) float64 {
	a := float64(alpha)
	ln := math.Log1p(-q)*(a-1) + math.Log1p((a-1)*q)
	for j := 2; j <= alpha; j++ {
		k := float64(j)
		t := lnBinomial(a, k) + (a-k)*math.Log1p(-q) + k*math.Log(q) + (k-1)*curve(k)
		if j > 2 {
			t += math.Log(3)
		}
		ln = lnAdd(ln, t)
	}
	return up(max(0, ln) / (a - 1))
}

// fixedRenyi is poissonRenyi for a sample of fixed size without replacement and replace-one
// neighbours ([Dissertation], Theorem 22, after [WBK19]), for mechanisms without a bound at infinite
// order.
func fixedRenyi(curve func(alpha float64) float64, q float64, alpha int) float64 {
	a := float64(alpha)
	two := curve(2)
	second := math.Min(math.Log(4)+lnExpm1(two), math.Log(2)+two)
	ln := lnAdd(0, 2*math.Log(q)+lnBinomial(a, 2)+second)
	for j := 3; j <= alpha; j++ {
		k := float64(j)
		ln = lnAdd(ln, k*math.Log(q)+lnBinomial(a, k)+(k-1)*curve(k)+math.Log(2))
	}
	return up(ln / (a - 1))
}

func lnBinomial(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}

func lnAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

func lnExpm1(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log(math.Expm1(x))
}
