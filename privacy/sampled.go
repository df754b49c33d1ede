package privacy

import "math"

// Sampling is how each round selects its records, independently of other rounds and in secret.
type Sampling uint8

const (
	// SamplingNone: every record enters every round.
	SamplingNone Sampling = 0
	// SamplingPoisson: each record enters independently with probability Rate.
	SamplingPoisson Sampling = 1
	// SamplingFixed: a uniformly random subset of fixed size, without replacement.
	SamplingFixed Sampling = 2
)

// String returns the name of the sampling in flags.
func (s Sampling) String() string {
	switch s {
	case SamplingNone:
		return "none"
	case SamplingPoisson:
		return "poisson"
	case SamplingFixed:
		return "without-replacement"
	}
	return "sampling(?)"
}

// sampledRenyi returns the Renyi divergence of the Poisson-sampled Gaussian with noise multiplier sigma
// (standard deviation over the bound of a record) and rate q, for add-remove neighbours and any real
// alpha > 1: ln E_{N(0,1)} (1 - q + q e^(x/sigma - 1/(2 sigma^2)))^alpha / (alpha - 1) ([MTZ19], who
// prove that this direction is the larger). The integral is computed by the trapezoidal rule with a
// relative error below 10^-13; for sigma below 1/20, where it would need many points, it is bounded in
// closed form.
func sampledRenyi(sigma, q, alpha float64) float64 {
	if q == 1 {
		return up(alpha / (2 * sigma * sigma))
	}
	return up(max(0, lnMoment(1/sigma, q, alpha))/(alpha-1)) + 0x1p-46/(alpha-1)
}

// farMu is the distance above which lnMoment is a bound in closed form instead of an integral, whose
// number of points grows like mu^2.
const farMu = 20

// farMoment bounds lnMoment from above: for power > 1 by Minkowski's inequality for the norm of order
// power, and for power < 0 by omitting the second term. For large mu neither loses much.
func farMoment(mu, q, power float64) float64 {
	if power < 0 {
		return power * math.Log1p(-q)
	}
	return power * lnAdd(math.Log1p(-q), math.Log(q)+(power-1)*mu*mu/2)
}

// lnMoment returns ln E_{x ~ N(0,1)} (1 - q + q e^(mu x - mu^2/2))^power, for a power below 0 or
// above 1.
func lnMoment(mu, q, power float64) float64 {
	if mu > farMu {
		return farMoment(mu, q, power)
	}
	// The mass of the integrand is concentrated around 0 and, for power > 0, power*mu. Its branch
	// points are at distance pi/mu from the real axis, so that the rule converges like
	// e^(-2 pi^2 / (mu h)).
	h := math.Min(0.1, 0.4/mu)
	lo, hi := -14.0, 14+math.Max(0, power)*mu
	lnq, ln1q := math.Log(q), math.Log1p(-q)
	peak := math.Inf(-1)
	var terms []float64
	for x := lo; x <= hi; x += h {
		a, b := ln1q, lnq+mu*x-mu*mu/2
		if a < b {
			a, b = b, a
		}
		t := power*(a+math.Log1p(math.Exp(b-a))) - x*x/2
		terms = append(terms, t)
		peak = math.Max(peak, t)
	}
	var sum float64
	for _, t := range terms {
		sum += math.Exp(t - peak)
	}
	return peak + math.Log(sum*h/math.Sqrt(2*math.Pi))
}

// defaultOrders returns the default Renyi orders of Opacus and dp_accounting: 1.1 to 10.9 in steps of
// 0.1, and 12 to 63.
func defaultOrders() []float64 {
	var orders []float64
	for k := 11; k < 110; k++ {
		orders = append(orders, float64(k)/10)
	}
	for k := 12; k < 64; k++ {
		orders = append(orders, float64(k))
	}
	return orders
}

// curveEpsilon returns the least renyiEpsilon over the given orders, all above 1.
func curveEpsilon(curve func(alpha float64) float64, orders []float64, delta float64) float64 {
	epsilon := math.Inf(1)
	for _, a := range orders {
		if e := renyiEpsilon(a, curve(a), delta); e < epsilon {
			epsilon = e
		}
	}
	return epsilon
}

// MomentsEpsilon is the moments accountant of [Thesis], Eqs. 2.7-2.17, after [ACG16],
// for Poisson-sampled Gaussian steps and add-remove neighbours: integer moments
// lambda = 1..maxLambda of both directions, epsilon = min (alpha(lambda) - ln delta) / lambda.
// It is a valid bound, but looser than the others, and serves for comparison.
func MomentsEpsilon(sigma, q float64, steps int, delta float64, maxLambda int) (epsilon float64, lambda int) {
	epsilon = math.Inf(1)
	for l := 1; l <= maxLambda; l++ {
		x := float64(l)
		var moment float64
		if q == 1 {
			moment = x * (x + 1) / (2 * sigma * sigma)
		} else {
			moment = max(0, lnMoment(1/sigma, q, -x), lnMoment(1/sigma, q, x+1))
		}
		if e := up((float64(steps)*moment - math.Log(delta)) / x); e < epsilon {
			epsilon, lambda = e, l
		}
	}
	return epsilon, lambda
}
