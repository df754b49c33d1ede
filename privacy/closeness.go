package privacy

import "math"

// This file has the two lemmas that relate integer noise to Gaussian curves, with
// their constants. docs/privacy.md, section 3, proves them.

// thetaTail bounds 2 sum_{m>=1} exp(-2 pi^2 v m^2), which bounds the difference from 1 of the sum
// over the integers of a Gaussian density of variance v with any centre (Poisson summation). It is
// infinite where the bound is useless (v < 1/25).
func thetaTail(v float64) float64 {
	q := math.Exp(-2 * math.Pi * math.Pi * v)
	if !(v >= 0.04) {
		return math.Inf(1)
	}
	// m^2 >= 1 + 3(m-1), so the sum is at most q / (1 - q^3).
	return up(2 * q / (1 - q*q*q))
}

// deviation bounds ln(p/g) pointwise for a pmf p on the integers and a reference g:
// -low <= ln(p/g) <= high.
type deviation struct{ low, high float64 }

// times returns the deviation of n independent coordinates.
func (d deviation) times(n float64) deviation { return deviation{up(n * d.low), up(n * d.high)} }

func (d deviation) plus(e deviation) deviation {
	return deviation{up(d.low + e.low), up(d.high + e.high)}
}

// sumDeviation is Lemma 1: the deviation of one coordinate of the sum of k independent
// discrete Gaussians of parameter v from the Gaussian density of variance k v
// at the integers. The correction for j parts plus one has the variance v j / (j + 1).
// [KLS21] bound the distance to a discrete Gaussian in the same way, with a constant of 10 instead
// of 2.
func sumDeviation(v float64, k uint32) deviation {
	alone := math.Log1p(thetaTail(v)) // pmf of one part: density / (1 + at most this)
	d := deviation{low: up(float64(k) * alone)}
	// Terms for j >= 4 are at most the one for j = 4, which keeps the loop short.
	for j := uint32(1); j < k && j < 4; j++ {
		d = d.plus(joinDeviation(v, float64(j)))
	}
	if k > 4 {
		d = d.plus(joinDeviation(v, 4).times(float64(k - 4)))
	}
	return d
}

func joinDeviation(v, j float64) deviation {
	return ratioDeviation(thetaTail(v * j / (j + 1)))
}

// ratioDeviation returns the deviation of a ratio in [1-t, 1+t].
func ratioDeviation(t float64) deviation {
	if t >= 0.5 {
		return deviation{math.Inf(1), math.Inf(1)}
	}
	return deviation{low: up(-math.Log1p(-t)), high: up(math.Log1p(t))}
}

// roundingDeviation is Lemma 2. It bounds ln(density/pmf) at every integer within [-low, high], for
// every centre and every s > r. The density is that of a Gaussian of variance s. The pmf is that of a
// Gaussian of variance s - r that is rounded at random to the integers by a discrete Gaussian of
// parameter r around it.
func roundingDeviation(r float64) deviation { return ratioDeviation(thetaTail(r)) }
