package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestClippedSquares: the mean, its derivative and the variance of a clipped square are those of draws.
func TestClippedSquares(t *testing.T) {
	const draws = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, mean := range []float64{0.02, 0.3, 2, 9} {
		sum, squares, slope := 0.0, 0.0, 0.0
		for range draws {
			z := r.NormFloat64()
			x := min(mean*z*z, 1)
			sum += x / draws
			squares += x * x / draws
			if x < 1 {
				slope += z * z / draws
			}
		}
		variance := squares - sum*sum
		// Five standard errors: below 1e-5 of false alarms in all.
		if tol := 5 * math.Sqrt(variance/draws); math.Abs(clipped(mean)-sum) > tol {
			t.Errorf("mean square %g: %g, draws have %g +- %g", mean, clipped(mean), sum, tol)
		}
		if math.Abs(slopeOf(mean)-slope) > 5*math.Sqrt(3.0/draws) {
			t.Errorf("mean square %g: slope %g, draws have %g", mean, slopeOf(mean), slope)
		}
		// A variable in [0, 1] has squares whose mean has a standard error of at most 1/2 root(1/n).
		if math.Abs(scatter(mean)-variance) > 15*0.5/math.Sqrt(draws) {
			t.Errorf("mean square %g: variance %g, draws have %g", mean, scatter(mean), variance)
		}
	}
}

// TestResiduals: over noise the estimate is unbiased to a tenth of its standard deviation where that is
// small, and the interval holds the variance as often as it says.
func TestResiduals(t *testing.T) {
	const repeats = 2000
	r := rand.New(rand.NewPCG(3, 4))
	for _, v := range []float64{0.2, 0.5, 1.5} {
		held, sum, sd := 0, 0.0, 0.0
		for range repeats {
			e := Residuals{Limit: 3, SD: 0.004, Assumed: 0.5, Spread: 0.1, SpreadSD: 0.02}
			own := v + e.Spread + e.SpreadSD*r.NormFloat64()
			e.Share = clipped(own/e.Limit) + e.SD*r.NormFloat64()
			got, lower, upper := e.Variance()
			sum += got / repeats
			if lower <= v && v <= upper {
				held++
			}
			_, sd = e.MeanSquare()
		}
		if math.Abs(sum-v) > sd*sd/0.5+4*math.Hypot(sd, 0.02)/math.Sqrt(repeats)+0.1*sd {
			t.Errorf("variance %g: estimates have the mean %g", v, sum)
		}
		if held < repeats*94/100 {
			t.Errorf("variance %g: %d of %d intervals hold it", v, held, repeats)
		}
	}
}

// TestResidualsOfNoise: where noise hides the residuals the variance is the assumed one, and it is positive
// whatever the sums are.
func TestResidualsOfNoise(t *testing.T) {
	e := Residuals{Limit: 3, Assumed: 0.5, Spread: 0.2, SD: 1e4}
	for _, share := range []float64{-1e4, 0, 0.2, 1e4} {
		e.Share = share
		if v, lower, upper := e.Variance(); math.Abs(v-0.5) > 0.01 || lower != 0 || upper < 3 {
			t.Errorf("share %g of noise: %g in %g to %g", share, v, lower, upper)
		}
	}
	for _, sd := range []float64{0, 1e-9, 0.1} {
		for _, share := range []float64{-1, 0, 1e-9, 1, 100} {
			e.SD, e.Share = sd, share
			if v, lower, upper := e.Variance(); !(v > 0 && lower >= 0 && lower <= v && v <= upper && upper < 1e9) {
				t.Errorf("share %g, noise %g: %g in %g to %g", share, sd, v, lower, upper)
			}
		}
	}
}
