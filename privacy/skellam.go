package privacy

import "math"

// SkellamRenyi bounds D_alpha between a Skellam vector of the given variance per
// coordinate (the difference of two Poissons of half of it) and its shift by an integer vector of
// L2 norm l2 and L1 norm l1 (Agarwal, Kairouz and Liu 2021), at integer
// orders alpha >= 2. Sums of independent Skellam vectors are Skellam, so parts add up exactly.
func SkellamRenyi(variance, l2, l1, alpha float64) float64 {
	extra := math.Min(((2*alpha-1)*l2*l2+6*l1)/(4*variance*variance), 3*l1/(2*variance))
	return up(alpha*l2*l2/(2*variance) + extra)
}

// IntegerL1 bounds the L1 norm of an integer vector by its L2 norm and dimension:
// min(sqrt(d) l2, l2^2).
func IntegerL1(l2 float64, dim int) float64 {
	return up(math.Min(math.Sqrt(float64(dim))*l2, l2*l2))
}

// RoundedNorm bounds the L2 norm of a real vector of norm at most clip after unbiased random
// rounding to a grid of step gamma, conditioned on not exceeding the bound, which
// fails with probability at most beta < 1 (Kairouz, Liu and Steinke 2021).
// Choir doesn't need it: it rounds to nearest and then clips the integers, so that the
// bound is the clip itself (docs/privacy.md, section 5).
func RoundedNorm(clip, gamma, beta float64, dim int) float64 {
	d := float64(dim)
	worst := clip + gamma*math.Sqrt(d)
	usual := math.Sqrt(clip*clip + gamma*gamma*d/4 + math.Sqrt(2*math.Log(1/beta))*gamma*(clip+gamma*math.Sqrt(d)/2))
	return up(math.Min(worst, usual))
}
