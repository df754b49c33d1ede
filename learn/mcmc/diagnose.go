package mcmc

import "math"

// effectiveDraws estimates how many independent draws the chains' draws of one number are
// worth, by Geyer's initial monotone sequence over all chains ([BDA3], section 11.5), and
// splitRHat compares halves of chains: 1 is agreement ([BDA3], section 11.4). Each chain
// needs at least 4 draws; otherwise they are NaN. Chains with coupled steps count as
// independent.
func effectiveDraws(chains [][]float64) float64 {
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

// splitRHat compares the halves of all chains; see effectiveDraws.
func splitRHat(chains [][]float64) float64 {
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

// Diagnose returns the effective draws and the split R-hat of one weight, from draws of all
// weights by draw, then chain.
func Diagnose(draws [][]float64, chains, weight int) (effective, rHat float64) {
	byChain := make([][]float64, chains)
	for i, d := range draws {
		byChain[i%chains] = append(byChain[i%chains], d[weight])
	}
	return effectiveDraws(byChain), splitRHat(byChain)
}
