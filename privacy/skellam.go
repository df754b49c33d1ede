package privacy

import "math"

// skellamRenyi bounds the Renyi divergence between a Skellam vector of the given variance per
// coordinate (the difference of two Poissons of half of it) and its shift by an integer vector of
// L2 norm l2 and L1 norm l1, at integer orders alpha >= 2 ([AKL21]). Sums of independent Skellam
// vectors are Skellam vectors, so that the variances of parts add up exactly.
func skellamRenyi(variance, l2, l1, alpha float64) float64 {
	extra := math.Min(((2*alpha-1)*l2*l2+6*l1)/(4*variance*variance), 3*l1/(2*variance))
	return up(alpha*l2*l2/(2*variance) + extra)
}

// integerL1 bounds the L1 norm of an integer vector by its L2 norm and dimension:
// min(sqrt(d) l2, l2^2).
func integerL1(l2 float64, dim int) float64 {
	return up(math.Min(math.Sqrt(float64(dim))*l2, l2*l2))
}
