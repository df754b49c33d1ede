package mcmc

import (
	"fmt"
	"math"
	"slices"
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

// Correction returns the distribution whose sum with N(0, variance) is the standard logistic,
// up to 5.9e-4, 4e-5 and 1.2e-5 in the distribution function for the variances 2, 1.5 and 1.
// For 2 no distribution does better than 5.87e-4; none is exact (docs/methods.md, theorem A).
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

// Variance is that of the distribution.
func (a Atoms) Variance() (v float64) {
	for k, w := range a.Weight {
		v += w * a.At[k] * a.At[k]
	}
	return v
}

// BarkerAcceptance is the probability that Barker's corrected test accepts.
func (a Atoms) BarkerAcceptance(delta, variance float64) (p float64) {
	sd := math.Sqrt(variance)
	for k, w := range a.Weight {
		p += w / 2 * (normalCDF((delta+a.At[k])/sd) + normalCDF((delta-a.At[k])/sd))
	}
	return p
}

// CDFError is the largest difference of BarkerAcceptance from the logistic distribution
// function, on a grid of step 1/100.
func (a Atoms) CDFError(variance float64) float64 {
	worst := 0.0
	for i := range 3001 {
		d := float64(i) / 100
		worst = max(worst, math.Abs(a.BarkerAcceptance(d, variance)-1/(1+math.Exp(-d))))
	}
	return worst
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

// EffectiveDraws estimates how many independent draws the chains' draws of one number are
// worth, by Geyer's initial monotone sequence over all chains ([BDA3], section 11.5), and
// SplitRHat compares halves of chains: 1 is agreement ([BDA3], section 11.4). Each chain
// needs at least 4 draws; otherwise they are NaN. Chains with coupled steps count as
// independent.
func EffectiveDraws(chains [][]float64) float64 {
	n := len(chains[0])
	if n < 4 {
		return math.NaN()
	}
	within, total := spread(chains)
	if !(total > 0) {
		return 1
	}
	sum, last := 0.0, math.Inf(1)
	for lag := 0; lag+1 < n; lag += 2 {
		pair := 0.0
		for _, t := range []int{lag, lag + 1} {
			pair += 1 - (within-autocovariance(chains, t))/total
		}
		if !(pair > 0) {
			break
		}
		last = min(last, pair)
		sum += last
	}
	m := float64(len(chains) * n)
	return min(m*math.Log10(m), m/max(2*sum-1, 1/math.Log10(m)))
}

// SplitRHat compares the halves of all chains; see EffectiveDraws.
func SplitRHat(chains [][]float64) float64 {
	n := len(chains[0]) / 2
	if n < 2 {
		return math.NaN()
	}
	var halves [][]float64
	for _, c := range chains {
		halves = append(halves, c[:n], c[len(c)-n:])
	}
	within, total := spread(halves)
	return math.Sqrt(total / within)
}

// spread is the mean variance within chains and the one over all.
func spread(chains [][]float64) (within, total float64) {
	n, m := float64(len(chains[0])), float64(len(chains))
	var means []float64
	for _, c := range chains {
		mean := meanOf(c)
		means = append(means, mean)
		for _, x := range c {
			within += (x - mean) * (x - mean) / (n - 1) / m
		}
	}
	all, between := meanOf(means), 0.0
	for _, x := range means {
		between += (x - all) * (x - all)
	}
	if m > 1 {
		between /= m - 1
	}
	return within, within*(n-1)/n + between
}

func meanOf(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// autocovariance is the mean over chains at a lag.
func autocovariance(chains [][]float64, lag int) (v float64) {
	for _, c := range chains {
		mean := meanOf(c)
		for i := range len(c) - lag {
			v += (c[i] - mean) * (c[i+lag] - mean) / float64(len(c)) / float64(len(chains))
		}
	}
	return v
}

// column is one weight's draws by chain, from draws by draw and chain.
func column(draws [][]float64, chains, j int) [][]float64 {
	out := make([][]float64, chains)
	for i, d := range draws {
		out[i%chains] = append(out[i%chains], d[j])
	}
	return slices.Clip(out)
}
