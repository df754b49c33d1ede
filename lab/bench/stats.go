package bench

import (
	"math"
	"slices"
)

// medianOf is the middle of the values, the upper one of two.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// spreadOf is half the distance between the quartiles over the median.
func spreadOf(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 || s[len(s)/2] == 0 {
		return 0
	}
	return (s[(3*len(s))/4] - s[len(s)/4]) / 2 / s[len(s)/2]
}

// mannWhitney is the two-sided p-value of the rank-sum test (Mann and Whitney, 1947)
// by the exact distribution of U; ties count a half and are rounded towards the
// middle, so that p is never too small.
func mannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x < y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	pairs := len(a) * len(b)
	low := int(math.Ceil(min(u, float64(pairs)-u)))
	ways := rankSums(len(a), len(b))
	total, tail := 0.0, 0.0
	for k, w := range ways {
		total += w
		if k <= low {
			tail += w
		}
	}
	return min(1, 2*tail/total)
}

// rankSums counts, for each U from 0 to m n, the arrangements of m and n values that
// have it: the coefficients of the Gaussian binomial.
func rankSums(m, n int) []float64 {
	ways := make([]float64, m*n+1)
	ways[0] = 1
	for i := 1; i <= m; i++ { // times (1 - q^(n+i)) over (1 - q^i)
		for k := len(ways) - 1; k >= n+i; k-- {
			ways[k] -= ways[k-n-i]
		}
		for k := i; k < len(ways); k++ {
			ways[k] += ways[k-i]
		}
	}
	return ways
}
