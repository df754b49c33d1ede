package experiment

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// noisyLoss is the exact privacy loss of the published scheme on its worst-case
// neighbours (docs/noisy-factors.md, section 3). What the public history shows of
// the victim is one Gaussian vector, a coordinate a round, in units of the clip C
// and of the deviation sigma of a round's noise:
//
//	mean difference  2 (C / sigma) B 1,
//	covariance       (1 - 1/M) I + (1/M) B B',
//
// where B = I + a L, L has ones below the diagonal, a is the damping and M the
// number of factors that share the noise.
type noisyLoss struct {
	// Ratio is mu over the 2 C sqrt(rounds) / sigma that the published theorem
	// claims; at least 1.
	Ratio float64
	// Weights are the optimal statistic's: the likelihood ratio is increasing in
	// the weighted sum of the rounds.
	Weights []float64
}

// lossOf works it out for any rounds and factors, at least 1 of each, and 0 <= damping <= 1.
func lossOf(rounds, factors int, damping float64) (noisyLoss, error) {
	b := mat.NewDense(rounds, rounds, nil)
	for s := range rounds {
		b.Set(s, s, 1)
		for r := range s {
			b.Set(s, r, damping)
		}
	}
	cov, own := mat.NewSymDense(rounds, nil), 1/float64(factors)
	cov.SymOuterK(own, b)
	for s := range rounds {
		cov.SetSym(s, s, cov.At(s, s)+1-own)
	}
	mean := mat.NewVecDense(rounds, nil)
	for s := range rounds {
		mean.SetVec(s, 1+damping*float64(s))
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return noisyLoss{}, fmt.Errorf("noisy factors: the covariance of %d rounds with damping %v is "+
			"singular", rounds, damping)
	}
	w := mat.NewVecDense(rounds, nil)
	if err := chol.SolveVecTo(w, mean); err != nil {
		return noisyLoss{}, fmt.Errorf("noisy factors: %w", err)
	}
	return noisyLoss{math.Sqrt(mat.Dot(mean, w) / float64(rounds)), w.RawVector().Data}, nil
}
