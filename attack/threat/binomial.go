package threat

import "gonum.org/v1/gonum/mathext"

// LowerRate is the lower Clopper-Pearson limit for the probability of an event
// that happened hits times in n independent trials, 0 <= hits <= n and n >= 1:
// it lies above the probability in at most a fraction alpha, in (0, 1), of all
// experiments [CP34].
func LowerRate(hits, n int, alpha float64) float64 {
	if hits == 0 {
		return 0
	}
	lo, _ := crossing(func(p float64) bool { // P(X >= hits) rises with p
		return mathext.RegIncBeta(float64(hits), float64(n-hits+1), p) > alpha
	})
	return lo
}

// UpperRate is the upper limit likewise: it lies below the probability in at
// most a fraction alpha of all experiments.
func UpperRate(hits, n int, alpha float64) float64 {
	if hits == n {
		return 1
	}
	_, hi := crossing(func(p float64) bool { // P(X <= hits) falls with p
		return mathext.RegIncBeta(float64(n-hits), float64(hits+1), 1-p) < alpha
	})
	return hi
}

// crossing is an interval of [0, 1] in which the condition, false below and true
// above it, turns. It is as narrow as 2^-60, or as numbers are.
func crossing(above func(float64) bool) (lo, hi float64) {
	lo, hi = 0, 1
	for hi-lo > 0x1p-60 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if above(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo, hi
}
