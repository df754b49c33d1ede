package privacy

import (
	"errors"
	"math"
	"testing"
)

// A shift that is too far for an int is no shift by 0: a claim of 0 where outputs never
// overlap once came from 2^62 times 4. The loss of the output that both neighbours are
// likeliest to give is d^2/(2 sigma^2) a step, which no true epsilon is below here.
func TestFarNeighboursCostMuch(t *testing.T) {
	for _, mechanism := range []Mechanism{DiscreteGaussian, Skellam} {
		for _, d := range []float64{1 << 20, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1e19, 1e300} {
			for _, steps := range []int{1, 2, 4, 1 << 30} {
				for _, accountant := range []string{"", AccountantExact} {
					q := Query{Mechanism: mechanism, Sigma: 1, Sensitivity: d, Steps: steps, Delta: 1e-5, Accountant: accountant}
					a, err := Account(q)
					if err != nil && !errors.Is(err, ErrInput) || err == nil && !(a.Epsilon >= d && a.LowerBound <= a.Epsilon) {
						t.Errorf("%+v: %+v, %v", q, a, err)
					}
				}
			}
		}
	}
	if e, err := LowerEpsilon(Release{Sensitivity: math.MaxUint64, PartVariance: 1, Parts: 1, Dim: 1}, 4, 1e-5); err != nil || e != 0 {
		t.Errorf("a lower bound of %v, %v where nothing is computed", e, err)
	}
}
