package noiseaware

import (
	"math"

	"choir/learn/gauss"
)

// The prior of single weights of classes has the plan's precision, or, with odds of 1 to 20, a tenth of it.
// Weights that are long together are as unlikely under the first as the sum of their squares is, though it
// would draw each of them.
const (
	LongerPrior = 0.1      // its precision over the plan's
	LongerOdds  = 1.0 / 20 // of it to the plan's
)

// worth is the least bound on the logarithm of the ratio of the sums' densities under both priors for which
// the longer prior's posterior is computed.
const worth = 1

// Weights are single weights under a prior, and their law before they are made to cover. Only Law's means and
// variances count.
type Weights struct{ Law, Single *gauss.Moments }

// excess is the mean square of the weights in variances of the prior, less the prior's. Half of it is by how
// much the logarithm of the sums' density rises as that of the precision falls.
func (w Weights) excess(prior float64) float64 {
	sum := 0.0
	for i, m := range w.Law.Mean {
		sum += prior*(m*m+w.Law.Variance[i]) - 1
	}
	return sum
}

// Longer returns single weights under a prior of this precision, in a mixture with those under a tenth of it,
// by what the sums tell of both. under returns the weights under another precision, and false if there are
// none: then nothing is mixed.
//
// The ratio of the sums' densities follows from the integral of the excess, by Simpson's rule over the
// logarithm of the precision. That is exact where sums tell nothing of the weights, and within a hundredth
// where they tell all. The excess falls with the precision, so that the first posterior bounds the ratio.
func Longer(prior float64, own Weights, under func(precision float64) (Weights, bool)) *gauss.Moments {
	span := -math.Log(LongerPrior)
	excess := own.excess(prior)
	if span*excess/2 < worth {
		return own.Single
	}
	var far Weights
	for _, part := range []struct{ power, weight float64 }{{0.5, 4}, {1, 1}} {
		p := prior * math.Pow(LongerPrior, part.power)
		var ok bool
		if far, ok = under(p); !ok {
			return own.Single
		}
		excess += part.weight * far.excess(p)
	}
	return mixture(1/(1+math.Exp(-span*excess/12)/LongerOdds), own.Single, far.Single)
}
