package noiseaware

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestDistance: of one weight, the chain has the moments of the density, by numerical integration. If
// its 800 draws were worth half of independent ones, 3 standard errors would be .15 standard deviations,
// and a fifth of the variance. The curvature's error makes the variance 3 times as large.
func TestDistance(t *testing.T) {
	const h, score, noise, point, prior = 50.0, 60.0, 30.0, -0.3, 1.0
	moments := func(e float64) (mean, variance float64) {
		mass := 0.0
		for i := -60000; i <= 60000; i++ {
			w := float64(i) / 10000
			v := h + noise + 2*e*(w-point)*(w-point)
			r := score - h*(w-point)
			p := math.Exp(-prior*w*w/2-r*r/(2*v)) / math.Sqrt(v)
			mass += p
			mean += p * w
			variance += p * w * w
		}
		mean /= mass
		return mean, variance/mass - mean*mean
	}
	curvature := mat.NewSymDense(1, []float64{h})
	tr := Trace{Prior: prior, Points: [][]float64{{point}}, Scores: [][]float64{{score}},
		Spread:   [][]float64{{0}},
		Variance: func([]float64) []float64 { return []float64{noise} }}
	for _, e := range []float64{0, 60} {
		by := revealed{curvature: estimate{matrix: curvature, noise: e}, weights: []float64{1},
			prior: []float64{prior}, whole: true}
		m, err := tr.along(line(curvature), by)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance := moments(e)
		if math.Abs(m.Mean[0]-mean) > 0.15*math.Sqrt(variance) || math.Abs(m.Variance[0]/variance-1) > 0.2 {
			t.Errorf("error %v: %v and %v, want %v and %v", e, m.Mean, m.Variance, mean, variance)
		}
	}
}
