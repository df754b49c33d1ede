package mcmc

import (
	"fmt"
	"math"
)

// barkerVariance is C of the corrected Gaussian of Barker's test.
const barkerVariance = 2

// AcceptPenalty is the penalty test ([CD99], [YE19]): with noisy = delta + N(0, variance) it
// accepts if log u < noisy - variance / 2, for u uniform on (0, 1). It is in detailed
// balance, exactly, for every variance.
func AcceptPenalty(noisy, variance, u float64) bool { return logOf(u) < noisy-variance/2 }

// AcceptBarker is Barker's test with a corrected Gaussian ([DP-MCMC], equations 8 and 9): it
// accepts if noisy + correction > 0, where noisy is delta + N(0, 2) and correction a draw of
// Correction(2).
func AcceptBarker(noisy, correction float64) bool { return noisy+correction > 0 }

// Atoms is a symmetric discrete distribution: value At[k] has the weight Weight[k], half of
// it at -At[k].
type Atoms struct{ At, Weight []float64 }

// Correction returns the distribution whose sum with N(0, variance) is the standard logistic, up to
// 5.9e-4, 4e-5 and 1.2e-5 in the distribution function for the variances 2, 1.5 and 1. For 2 no
// distribution does better than 5.87e-4; none is exact (docs/mcmc.md, theorem A). Errors: ErrConfig
// for other variances.
func Correction(variance float64) (Atoms, error) {
	switch variance {
	case 2:
		return Atoms{[]float64{0, 2.95133, 9.2211}, []float64{0.865968, 0.131796, 0.002236}}, nil
	case 1.5:
		return Atoms{[]float64{0, 1.93931, 4.19139, 7.11977},
			[]float64{0.689549, 0.272282, 0.035385, 0.002784}}, nil
	case 1:
		return Atoms{[]float64{0, 1.30254, 2.78653, 4.48736, 6.49446, 9.15213},
			[]float64{0.451444, 0.403934, 0.11526, 0.024846, 0.004083, 0.000433}}, nil
	}
	return Atoms{}, fmt.Errorf("%w: no correction for a variance of %v, want 1, 1.5 or 2", ErrConfig, variance)
}

// Draw is the value for u uniform on (0, 1).
func (a Atoms) Draw(u float64) float64 {
	for k, w := range a.Weight {
		if u < w || k == len(a.Weight)-1 {
			if 2*u < w {
				return -a.At[k]
			}
			return a.At[k]
		}
		u -= w
	}
	return 0
}

// BarkerAcceptance is the probability that Barker's corrected test accepts.
func (a Atoms) BarkerAcceptance(delta, variance float64) (p float64) {
	sd := math.Sqrt(variance)
	for k, w := range a.Weight {
		p += w / 2 * (normalCDF((delta+a.At[k])/sd) + normalCDF((delta-a.At[k])/sd))
	}
	return p
}

// PenaltyAcceptance is the probability that the penalty test accepts; variance is above 0.
func PenaltyAcceptance(delta, variance float64) float64 {
	sd := math.Sqrt(variance)
	return normalCDF((delta-variance/2)/sd) + math.Exp(delta+logNormalCDF((-delta-variance/2)/sd))
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// logNormalCDF is the logarithm of normalCDF; far below 0 by its continued fraction.
func logNormalCDF(x float64) float64 {
	if x > -8 {
		return math.Log(normalCDF(x))
	}
	f := -x
	for k := 40.0; k >= 1; k-- {
		f = -x + k/f
	}
	return -x*x/2 - math.Log(f*math.Sqrt(2*math.Pi))
}
