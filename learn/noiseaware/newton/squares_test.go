package newton

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/gauss"
)

// TestSquares: predictions by the variance that rounds of squares tell gain nearly what the variance itself
// would, .157 over a plan's by the law before the rounds, and .051 where noise hides the squares, which is
// what that law's mean gains. Of 4,000 draws a mean gain has a standard error of .004.
func TestSquares(t *testing.T) {
	const draws, assumed, limit = 4000, 0.5, 3.0
	g := rand.New(rand.NewPCG(4, 8))
	m := &gauss.Moments{Mean: []float64{0.3, 0}, Variance: []float64{0.01, 0.01}}
	for _, c := range []struct{ noise, least, most float64 }{
		{0.01, 0.14, 0.175}, {0.05, 0.09, 0.16}, {1, 0.033, 0.07},
	} {
		gain, inside := 0.0, 0
		for range draws {
			v := assumed * math.Exp((doubt+looser)*g.NormFloat64()-closer)
			s := &Squares{Limit: limit, Assumed: assumed}
			whole := v + 0.02 + 0.05 // the weights' variance, and the way from the public ones
			for range 2 {
				share := cut(whole/limit) + c.noise*math.Sqrt2*g.NormFloat64()
				s.Add([]float64{0.3 - math.Sqrt(0.05), 0}, share, c.noise*math.Sqrt2, 1e5)
			}
			got, lower, upper := s.Variance(m)
			if !(got > 0) || !(lower <= got && got <= upper) {
				t.Fatalf("noise %v: variance %v, interval %v to %v", c.noise, got, lower, upper)
			}
			if lower <= v && v <= upper {
				inside++
			}
			gain += (math.Log(assumed/got) + v*(1/assumed-1/got)) / 2 / draws
		}
		t.Logf("noise %v: gain %.3f, %d of %d in the interval", c.noise, gain, inside, draws)
		if gain < c.least || gain > c.most {
			t.Errorf("noise %v: gain %.3f, want %v to %v", c.noise, gain, c.least, c.most)
		}
		if inside < draws*94/100 {
			t.Errorf("noise %v: intervals hold %d of %d variances", c.noise, inside, draws)
		}
	}
}

// TestSquaresOfNothing: records without residuals, and squares without noise, have a small positive variance.
func TestSquaresOfNothing(t *testing.T) {
	for _, share := range []float64{0, 1e-5, 1} {
		s := &Squares{Limit: 3, Assumed: 0.5}
		s.Add([]float64{0}, share, 0, 100)
		v, lower, upper := s.Variance(&gauss.Moments{Mean: []float64{0}, Variance: []float64{0}})
		if !(v > 0 && lower <= v && v <= upper && v < 40) || share < 1 && v > 0.01 {
			t.Errorf("share %v: variance %v, interval %v to %v", share, v, lower, upper)
		}
	}
}

// cut is E min(t z^2, 1) for a standard normal z.
func cut(t float64) float64 {
	a := 1 / t
	return t*(math.Erf(math.Sqrt(a/2))-math.Sqrt(2*a/math.Pi)*math.Exp(-a/2)) + math.Erfc(math.Sqrt(a/2))
}
