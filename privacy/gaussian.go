package privacy

import "math"

// GaussianDelta returns the exact privacy profile delta(epsilon) of a Gaussian release
// for mu = sensitivity / sigma ([BW18], Theorem 8). Adaptive
// compositions of Gaussian releases have the profile of
// mu = sqrt(sum Delta_i^2 / sigma_i^2) ([Dissertation], Theorem 29, whose mu is
// half of the square of this one). The result is never below the true value, and exceeds it by at
// most 2^-40 of it plus the probability of the event times 2^-44 + 2^-50 (|a| + 1) b, with
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
	// The error of the difference a is 2^-52 b, the relative error of its normal tail |a| + 1 times that.
	pad := 0x1p-45 + 0x1p-51*(math.Abs(a)+1)*b
	var first, second float64
	if a < 0 {
		// Neither term is small, so there is no cancellation to avoid.
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

// erfcx returns exp(x^2) erfc(x) for x >= 0 with a relative error of 2^-46: by math.Erfc for x < 8,
// where the rounding of x^2 is no larger, and by the continued fraction above.
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

// GaussianEpsilon returns the least epsilon >= 0 with GaussianDelta(mu, epsilon) <= delta,
// rounded up. It is infinite if delta is 0 and mu is not.
func GaussianEpsilon(mu, delta float64) float64 {
	return leastEpsilon(delta, func(e float64) float64 { return GaussianDelta(mu, e) })
}

// gaussianLower returns a lower bound on the least epsilon.
func gaussianLower(mu, delta float64) float64 {
	return largestEpsilon(delta, func(e float64) float64 {
		lo, _ := gaussianDelta(mu, e)
		return lo
	})
}

// leastEpsilon inverts a non-increasing profile from above: the profile has been evaluated at the
// result and is at most delta there.
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

// GaussianMu returns the largest mu, rounded down, whose exact Gaussian profile meets
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
