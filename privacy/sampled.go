package privacy

import "math"

// Sampling is how a round picks the records that enter it, afresh each round and in secret.
type Sampling uint8

const (
	// SamplingNone: every record enters every round.
	SamplingNone Sampling = 0
	// SamplingPoisson: each record enters by itself with the given rate.
	SamplingPoisson Sampling = 1
	// SamplingFixed: a uniformly random subset of fixed size, without replacement.
	SamplingFixed Sampling = 2
)

// String is the sampling's name in flags.
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

// SampledRenyi is D_alpha of the Poisson-sampled Gaussian with noise multiplier sigma (noise
// over the record's bound) and rate q, add-remove neighbours, any real alpha > 1:
// ln E_{N(0,1)} (1 - q + q e^(x/sigma - 1/(2 sigma^2)))^alpha / (alpha - 1) (Mironov, Talwar and
// Zhang 2019, who prove that this direction is the larger). The integral is
// taken by the trapezoidal rule, which errs by less than 10^-13 relatively here; for sigma below
// 1/20, where it would take ever more points, it is bounded in closed form.
func SampledRenyi(sigma, q, alpha float64) float64 {
	if q == 1 {
		return up(alpha / (2 * sigma * sigma))
	}
	return up(max(0, lnMoment(1/sigma, q, alpha))/(alpha-1)) + 0x1p-46/(alpha-1)
}

// farMu is the distance above which lnMoment is a bound in closed form instead of an integral,
// whose points grow like mu^2.
const farMu = 20

// farMoment bounds lnMoment from above, for power > 1 by Minkowski's inequality for the norm of
// order power, and for power < 0 by leaving the second term out. Far apart neither loses much.
func farMoment(mu, q, power float64) float64 {
	if power < 0 {
		return power * math.Log1p(-q)
	}
	return power * lnAdd(math.Log1p(-q), math.Log(q)+(power-1)*mu*mu/2)
}

// lnMoment is ln E_{x ~ N(0,1)} (1 - q + q e^(mu x - mu^2/2))^power, for a power below 0 or
// above 1.
func lnMoment(mu, q, power float64) float64 {
	if mu > farMu {
		return farMoment(mu, q, power)
	}
	// The integrand's mass lies about the origin and about power*mu (0 < power). Its branch
	// points lie pi/mu off the axis, so the rule converges like e^(-2 pi^2 / (mu h)).
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

// DefaultOrders is the grid of Renyi orders that Opacus and dp_accounting start
// from: 1.1 to 10.9 by tenths and 12 to 63.
func DefaultOrders() []float64 {
	var orders []float64
	for k := 11; k < 110; k++ {
		orders = append(orders, float64(k)/10)
	}
	for k := 12; k < 64; k++ {
		orders = append(orders, float64(k))
	}
	return orders
}

// CurveEpsilon is the best RenyiEpsilon over the given orders, all above 1, and the
// order it was found at.
func CurveEpsilon(curve func(alpha float64) float64, orders []float64, delta float64) (epsilon, order float64) {
	epsilon = math.Inf(1)
	for _, a := range orders {
		if e := RenyiEpsilon(a, curve(a), delta); e < epsilon {
			epsilon, order = e, a
		}
	}
	return epsilon, order
}

// MomentsEpsilon is the moments accountant of the thesis (Eqs. 2.7-2.17, after Abadi
// et al. 2016) for steps Poisson-sampled Gaussian steps, add-remove neighbours: integer moments
// lambda = 1..maxLambda of both directions, epsilon = min (alpha(lambda) - ln delta) / lambda.
// A valid bound and looser than the others: kept for comparison.
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
