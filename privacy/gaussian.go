package privacy

import "math"

// GaussianDelta is the exact privacy profile of a Gaussian release, delta(epsilon),
// for mu = sensitivity / sigma (Balle and Wang 2018, Theorem 8). Adaptive
// compositions of Gaussian releases have the profile of
// mu = sqrt(sum Delta_i^2 / sigma_i^2) (dissertation, Theorem 29, whose "mu" is
// half of this one's square). It never lies below the true value, and above it by
// no more than 2^-40 of it plus the event's probability times 2^-44 + 2^-50 (|a| + 1) b, with
// a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2.
func GaussianDelta(mu, epsilon float64) float64 {
	_, hi := gaussianDelta(mu, epsilon)
	return hi
}

// gaussianDelta brackets the profile.
func gaussianDelta(mu, epsilon float64) (lo, hi float64) {
	if mu == 0 {
		return 0, 0
	}
	if math.IsInf(mu, 1) {
		return 0, 1
	}
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	if a > 38 { // delta is below exp(-a^2/2)
		return 0, 0x1p-1040
	}
	// The difference a errs by 2^-52 b, its normal tail relatively by |a| + 1 times that.
	pad := 0x1p-45 + 0x1p-51*(math.Abs(a)+1)*b
	var first, second float64
	if a < 0 {
		// Nothing is small here: no cancellation worth scaling away.
		first = math.Erfc(a/math.Sqrt2) / 2
		second = math.Exp(-a*a/2) * erfcx(b/math.Sqrt2) / 2
	} else {
		// Both terms share the factor exp(-a^2/2), since epsilon - b^2/2 = -a^2/2.
		scale := math.Exp(-a*a/2) / 2
		first, second = scale*erfcx(a/math.Sqrt2), scale*erfcx(b/math.Sqrt2)
	}
	d := first - second
	return max(0, d*(1-0x1p-41)-pad*first), min(1, up(d)+pad*first)
}

// erfcx is exp(x^2) erfc(x) for x >= 0 to a relative 2^-46: by the library's erfc
// below 8, where x^2 rounds to no worse, and by its continued fraction above.
func erfcx(x float64) float64 {
	if x < 8 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	f := x
	for k := 60; k > 0; k-- {
		f = x + float64(k)/2/f
	}
	return 1 / (f * math.Sqrt(math.Pi))
}

// GaussianEpsilon is the least epsilon >= 0 with GaussianDelta(mu, epsilon) <= delta,
// rounded up; infinite if delta is 0 and mu isn't.
func GaussianEpsilon(mu, delta float64) float64 {
	return leastEpsilon(delta, func(e float64) float64 { return GaussianDelta(mu, e) })
}

// gaussianLower is an epsilon that is certainly not larger than the least one.
func gaussianLower(mu, delta float64) float64 {
	return largestEpsilon(delta, func(e float64) float64 { lo, _ := gaussianDelta(mu, e); return lo })
}

// leastEpsilon inverts a non-increasing profile from above: the result's delta has
// been evaluated and lies at or below the target.
func leastEpsilon(delta float64, profile func(epsilon float64) float64) float64 {
	if profile(0) <= delta {
		return 0
	}
	hi := 1.0
	for profile(hi) > delta {
		if hi *= 2; hi > 1e12 {
			return math.Inf(1)
		}
	}
	lo := 0.0
	for range 200 {
		mid := (lo + hi) / 2
		if hi-lo <= 0x1p-44*hi || mid == lo || mid == hi {
			break
		}
		if profile(mid) <= delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// GaussianMu is the largest mu, rounded down, whose exact Gaussian profile meets
// (epsilon, delta): noise of standard deviation sensitivity/mu suffices.
func GaussianMu(epsilon, delta float64) (float64, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	lo, hi := 0.0, 1.0
	for GaussianDelta(hi, epsilon) <= delta {
		lo, hi = hi, 2*hi
	}
	for range 200 {
		mid := (lo + hi) / 2
		if hi-lo <= 0x1p-44*hi || mid == lo || mid == hi {
			break
		}
		if GaussianDelta(mid, epsilon) <= delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// ClassicalSigma is the textbook noise for one Gaussian release of sensitivity 1,
// sqrt(2 ln(1.25/delta)) / epsilon (thesis, Theorem 2.1.4). It is proven for
// epsilon < 1 only and refused elsewhere: used far above 1 it is no bound at all.
func ClassicalSigma(epsilon, delta float64) (float64, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	if epsilon >= 1 {
		return 0, refuse("epsilon %v: the classical Gaussian bound is proven below 1 only", epsilon)
	}
	return up(math.Sqrt(2*math.Log(1.25/delta)) / epsilon), nil
}
