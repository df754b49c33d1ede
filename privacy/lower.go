package privacy

import "math"

// lowerBound returns a lower bound on epsilon, 0 if none is known. The neighbours differ by the whole
// sensitivity along one axis, and the adversary sees only the sum of all steps, which is
// post-processing.
func lowerBound(q Query, d float64) float64 {
	switch {
	case q.sampled() && q.Mechanism != Gaussian:
		return 0
	case q.Mechanism == Gaussian && q.sampled():
		step := SampledStep{d / q.Sigma, q.Sampling, q.Rate, q.Steps}
		i, err := SampledEpsilon([]SampledStep{step}, q.Relation, q.Delta, q.Precision)
		if err != nil {
			return 0
		}
		return i.Lower
	case q.Mechanism == Gaussian:
		return gaussianLower(d/q.Sigma*math.Sqrt(float64(q.Steps))*(1-0x1p-50), q.Delta)
	case q.Mechanism == Skellam:
		l, err := skellamLattice(q.Sigma * q.Sigma * float64(q.Steps))
		if err != nil {
			return 0
		}
		return l.lowerEpsilon(math.Floor(d)*float64(q.Steps), q.Delta)
	}
	return lowerInteger(sums{math.Floor(d), q.Sigma * q.Sigma, 1, 1, float64(q.Steps)}, q.Delta)
}

// lowerEpsilon is LowerEpsilon for any distance, and 0 for shifts beyond the lattice.
func (l *lattice) lowerEpsilon(distance, delta float64) float64 {
	shift, ok := wholeShift(distance)
	if !ok {
		return 0
	}
	return l.LowerEpsilon(shift, delta)
}

// lowerInteger returns a lower bound on the epsilon at delta of equal releases: it considers neighbours
// that differ by the sensitivity along one axis, and a threshold on the sum of the outputs. On a fine
// grid it agrees with the upper bound to a few parts in a million.
func lowerInteger(x sums, delta float64) float64 {
	parts := x.n * float64(x.parts)
	if parts < 1 || parts > math.MaxUint32 || x.sensitivity < 1 {
		return 0
	}
	if x.part*parts <= 1e6 {
		if l, err := discreteGaussianLattice(x.part, int(parts)); err == nil {
			return l.lowerEpsilon(x.sensitivity*x.n, delta)
		}
	}
	d := sumDeviation(x.part, uint32(parts))
	variance, shift := x.part*parts, x.sensitivity*x.n
	if d.low > 1e-3 || math.IsInf(d.high, 1) {
		return 0
	}
	profile := func(epsilon float64) float64 { return halfLine(variance, shift, epsilon, d) }
	return largestEpsilon(delta, profile)
}

// halfLine returns P(Z >= t - shift) - e^epsilon P(Z >= t), rounded down, for an integer Z whose
// pmf is within d of the Gaussian density, at the t that is best for the Gaussian. Sums over the
// integers are bounded by integrals: the first sum is at least the integral from its first integer
// (minus the height of the peak if that is negative), the second at most the integral from t - 1.
func halfLine(variance, shift, epsilon float64, d deviation) float64 {
	sd := math.Sqrt(variance)
	t := math.Max(1, math.Round(variance*epsilon/shift+shift/2))
	p := math.Erfc((t-shift)/sd/math.Sqrt2) / 2
	if t < shift {
		p -= 0.4 / sd
	}
	q := math.Erfc((t-1)/sd/math.Sqrt2) / 2
	return p*math.Exp(-d.low)*(1-0x1p-40) - math.Exp(epsilon+d.high)*q*(1+0x1p-40)
}

// largestEpsilon returns an epsilon with profile > delta that is close to the largest, or 0.
func largestEpsilon(delta float64, profile func(float64) float64) float64 {
	hi := leastEpsilon(delta, profile)
	for down := 1e-9; down < 0.1; down *= 2 {
		if lo := hi * (1 - down); profile(lo) > delta {
			return lo
		}
	}
	return 0
}
