package privacy

import (
	"errors"
	"math"
	"testing"
)

// A shift that overflows an int must not become a shift by 0: 2^62 times 4 once gave an epsilon of 0
// for outputs that never overlap. The loss of the most likely output is d^2/(2 sigma^2) a step, and
// the true epsilon is not below it.
func TestFarNeighboursCostMuch(t *testing.T) {
	for _, mechanism := range []Mechanism{DiscreteGaussian, Skellam} {
		for _, d := range []float64{1 << 20, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1e19, 1e300} {
			for _, steps := range []int{1, 2, 4, 1 << 30} {
				for _, accountant := range []string{"", accountantExact} {
					q := Query{
						Mechanism: mechanism, Sigma: 1, Sensitivity: d, Steps: steps, Delta: 1e-5,
						Accountant: accountant,
					}
					a, err := Account(q)
					if err == nil && !(a.Epsilon >= d && a.LowerBound <= a.Epsilon) {
						t.Errorf("%+v: %+v", q, a)
					}
					if err != nil && !errors.Is(err, ErrInput) {
						t.Errorf("%+v: %v", q, err)
					}
				}
			}
		}
	}
	r := Release{Sensitivity: math.MaxUint64, PartVariance: 1, Parts: 1, Dim: 1}
	if e := lowerInteger(r.sums(4), 1e-5); e != 0 {
		t.Errorf("a lower bound of %v where nothing is computed", e)
	}
}
