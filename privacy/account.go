package privacy

import (
	"fmt"
	"math"
)

// Account answers a query with the accountant that it names, or with the tightest that is proven for
// it. It returns an error with the reason for combinations that are impossible or for which
// docs/privacy.md has no proof.
func Account(q Query) (Answer, error) {
	a, err := upperBound(q)
	if err != nil {
		return Answer{}, err
	}
	q, _ = q.validate()
	d, _ := q.distance()
	a.LowerBound = math.Max(a.LowerBound, math.Min(a.Epsilon, lowerBound(q, d)))
	return a, nil
}

// upperBound is Account without computing a lower bound.
func upperBound(q Query) (Answer, error) {
	q, err := q.validate()
	if err != nil {
		return Answer{}, err
	}
	d, err := q.distance()
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	switch {
	case q.Mechanism == Gaussian && q.sampled():
		a, err = sampledGaussian(q, d)
	case q.Mechanism == Gaussian:
		a, err = plainGaussian(q, d)
	case q.Mechanism == DiscreteGaussian:
		a, err = discreteGaussian(q, d)
	default:
		a, err = skellam(q, d)
	}
	if err != nil {
		return Answer{}, err
	}
	if math.IsInf(a.Epsilon, 1) || math.IsNaN(a.Epsilon) {
		return Answer{}, reject("sigma %v: no finite epsilon is proven by accountant %q", q.Sigma, a.Accountant)
	}
	a.Assumptions = append(a.Assumptions, q.assumptions(d)...)
	return a, nil
}

func (q Query) assumptions(d float64) []string {
	out := []string{fmt.Sprintf(
		"neighbouring sums differ by at most %g in L2 norm, in every step and for any history", d)}
	if q.sampled() {
		out = append(out, fmt.Sprintf(
			"%s sampling at rate %g, independent in each step and kept secret, %v neighbours",
			q.Sampling, q.Rate, q.Relation))
	}
	if q.Mechanism == Gaussian {
		return append(out, "noise is exactly Gaussian: no floating-point sampler is")
	}
	return append(out, "sums are integer vectors and the noise is exact over the integers")
}

func unproven(q Query) error {
	s := "without sampling"
	if q.sampled() {
		s = fmt.Sprintf("under %v sampling with %v neighbours", q.Sampling, q.Relation)
	}
	return reject("accountant %q is not proven for %s %s", q.Accountant, q.Mechanism, s)
}

func plainGaussian(q Query, d float64) (Answer, error) {
	mu := up(d / q.Sigma * math.Sqrt(float64(q.Steps)))
	a := Answer{Accountant: q.Accountant}
	switch q.Accountant {
	case "", accountantAnalytic:
		a.Accountant, a.Epsilon = accountantAnalytic, GaussianEpsilon(mu, q.Delta)
	case accountantClassical:
		if q.Steps != 1 {
			return a, reject("accountant classical: the bound is for one step, not %d steps", q.Steps)
		}
		a.Epsilon = up(math.Sqrt(2*math.Log(1.25/q.Delta)) * mu)
		if a.Epsilon >= 1 {
			return a, reject("accountant classical: the bound is proven below epsilon 1 only; "+
				"with this sigma it would be %g", a.Epsilon)
		}
	case accountantZCDP:
		a.Epsilon = zcdpEpsilon(up(mu*mu/2), q.Delta)
	case AccountantRDP:
		curve := func(x float64) float64 { return up(x * mu * mu / 2) }
		a.Epsilon = curveEpsilon(curve, defaultOrders(), q.Delta)
	case accountantMoments:
		a.Epsilon, _ = MomentsEpsilon(q.Sigma/d, 1, q.Steps, q.Delta, 32)
	case accountantPLD:
		steps := []SampledStep{{Mu: d / q.Sigma, Count: q.Steps}}
		e, err := sampledUpper(steps, ReplaceOne, q.Delta, q.Precision)
		a.Epsilon = e
		return a, err
	default:
		return a, unproven(q)
	}
	return a, nil
}

func sampledGaussian(q Query, d float64) (Answer, error) {
	a := Answer{Accountant: q.Accountant}
	steps := float64(q.Steps)
	poisson := q.Sampling == SamplingPoisson && q.Relation == AddRemove
	plain := func(x float64) float64 { return up(x * d * d / (2 * q.Sigma * q.Sigma)) }
	switch {
	case q.Accountant == "" || q.Accountant == accountantPLD:
		step := SampledStep{d / q.Sigma, q.Sampling, q.Rate, q.Steps}
		e, err := sampledUpper([]SampledStep{step}, q.Relation, q.Delta, q.Precision)
		return Answer{Epsilon: e, Accountant: accountantPLD}, err
	case q.Accountant == AccountantRDP && poisson:
		curve := func(x float64) float64 { return steps * sampledRenyi(q.Sigma/d, q.Rate, x) }
		a.Epsilon = curveEpsilon(curve, defaultOrders(), q.Delta)
	case q.Accountant == AccountantRDP && q.Sampling == SamplingFixed && q.Relation == ReplaceOne:
		curve := func(x float64) float64 { return steps * fixedRenyi(plain, q.Rate, int(x)) }
		a.Epsilon = curveEpsilon(curve, wholeOrders(), q.Delta)
	case q.Accountant == accountantMoments && poisson:
		a.Epsilon, _ = MomentsEpsilon(q.Sigma/d, q.Rate, q.Steps, q.Delta, 32)
	default:
		return a, unproven(q)
	}
	return a, nil
}

// wholeOrders returns the integer orders from 2 to 256 that generic amplification uses.
func wholeOrders() []float64 {
	var orders []float64
	for a := 2.0; a <= 64; a++ {
		orders = append(orders, a)
	}
	return append(orders, 80, 96, 128, 192, 256)
}

// discreteGaussian bounds the epsilon of one part with parameter Sigma^2.
func discreteGaussian(q Query, d float64) (Answer, error) {
	g := grouped{sums{d, q.Sigma * q.Sigma * (1 - 0x1p-45), 1, float64(q.Dim), float64(q.Steps)}}
	if q.sampled() {
		return sampledDiscrete(q, g[0])
	}
	a := Answer{Accountant: q.Accountant}
	switch q.Accountant {
	case "":
		b := g.epsilon(q.Delta)
		a.Epsilon, a.Accountant = b.Epsilon, b.Method
		if l, err := exactDiscrete(q, d); err == nil && l.Epsilon < a.Epsilon {
			return l, nil
		}
	case accountantExact:
		return exactDiscrete(q, d)
	case accountantNearGaussian:
		a.Epsilon = g.bestNearGaussian(q.Delta)
	case accountantZCDP:
		a.Epsilon = g.zcdp(q.Delta)
	case AccountantRDP:
		r := float64(q.Steps) * g[0].rho(g[0].variance())
		a.Epsilon = curveEpsilon(func(x float64) float64 { return up(x * r) }, defaultOrders(), q.Delta)
	default:
		return a, unproven(q)
	}
	return a, nil
}

func exactDiscrete(q Query, d float64) (Answer, error) {
	if q.Dim != 1 || d != math.Round(d) {
		return Answer{}, reject("accountant exact: summation needs dim 1 and an integer sensitivity, "+
			"not %d and %v", q.Dim, d)
	}
	l, err := discreteGaussianLattice(q.Sigma*q.Sigma, q.Steps)
	if err != nil {
		return Answer{}, reject("accountant exact, sigma %v, steps %d: %v", q.Sigma, q.Steps, err)
	}
	return l.answer(d*float64(q.Steps), q)
}

// answer returns the exact epsilon, or an error if the noise is too narrow.
func (l *lattice) answer(distance float64, q Query) (Answer, error) {
	shift, ok := wholeShift(distance)
	e := math.Inf(1)
	if ok {
		e = l.epsilon(shift, q.Delta*(1-1e-10))
	}
	if math.IsInf(e, 1) {
		return Answer{}, reject("sigma %v is too small compared with the sensitivity for exact summation", q.Sigma)
	}
	lower := math.Min(e, l.LowerEpsilon(shift, q.Delta))
	return Answer{Epsilon: e, LowerBound: lower, Accountant: accountantExact}, nil
}

func sampledDiscrete(q Query, x sums) (Answer, error) {
	a := Answer{Accountant: q.Accountant}
	switch {
	case q.Accountant == "" || q.Accountant == accountantNearGaussian || q.Accountant == accountantPLD:
		all := []sampledSums{{x, q.Sampling, q.Rate}}
		e, err := sampledNearGaussian(all, q.Relation, q.Delta, q.Precision)
		if err == nil && math.IsInf(e, 1) {
			err = reject("sigma %v is too small for sampled discrete noise to be near Gaussian", q.Sigma)
		}
		return Answer{Epsilon: e, Accountant: accountantNearGaussian}, err
	case q.Accountant == AccountantRDP:
		curve := func(order float64) float64 { return up(order * x.rho(x.variance())) }
		return genericRenyi(q, curve)
	}
	return a, unproven(q)
}

// genericRenyi amplifies, by sampling, a Renyi curve that holds for both directions.
func genericRenyi(q Query, curve func(float64) float64) (Answer, error) {
	steps := float64(q.Steps)
	amplify := curve
	switch {
	case !q.sampled():
	case q.Sampling == SamplingPoisson && q.Relation == AddRemove:
		amplify = func(x float64) float64 { return poissonRenyi(curve, q.Rate, int(x)) }
	case q.Sampling == SamplingFixed && q.Relation == ReplaceOne:
		amplify = func(x float64) float64 { return fixedRenyi(curve, q.Rate, int(x)) }
	default:
		return Answer{}, unproven(q)
	}
	e := curveEpsilon(func(x float64) float64 { return steps * amplify(x) }, wholeOrders(), q.Delta)
	return Answer{Epsilon: e, Accountant: AccountantRDP}, nil
}

func skellam(q Query, d float64) (Answer, error) {
	curve := func(x float64) float64 { return skellamRenyi(q.Sigma*q.Sigma, d, integerL1(d, q.Dim), x) }
	rdp, err := genericRenyi(q, curve)
	if q.Accountant == AccountantRDP {
		return rdp, err
	}
	exact := q.Dim == 1 && q.Steps == 1 && !q.sampled() && d == math.Round(d)
	exact = exact && (q.Accountant == "" || q.Accountant == accountantExact)
	if l, err := skellamLattice(q.Sigma * q.Sigma); exact && err == nil {
		if a, err := l.answer(d, q); err == nil || q.Accountant != "" {
			return a, err
		}
	}
	if q.Accountant == "" {
		return rdp, err
	}
	return Answer{}, unproven(q)
}
