package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// TestColumns: the curvature at one point tells the mean prediction at another one, with the number
// of records known or not, and a posterior gets the intercept that agrees with a rate.
func TestColumns(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	point, truth := []float64{0.3, -0.2, -2}, []float64{1.1, -0.9, -3}
	h := mat.NewSymDense(3, nil)
	here, there := 0.0, 0.0
	for range n {
		x := []float64{0.8 + r.NormFloat64(), 0, 1}
		x[1] = 0.6*x[0] + 0.8*r.NormFloat64()
		at, to := 0.0, 0.0
		for i, v := range x {
			at += point[i] * v
			to += truth[i] * v
		}
		p := 1 / (1 + math.Exp(-at))
		h.SymRankOne(h, p*(1-p), mat.NewVecDense(3, x))
		here += p / n
		there += 1 / (1 + math.Exp(-to)) / n
	}
	zero := make([]float64, 3)
	for _, records := range []float64{0, n} {
		c := normal(estimate{matrix: h}, 0, point, zero, records)
		if math.Abs(c.records/n-1) > 0.1 {
			t.Errorf("%.0f records", c.records)
		}
		if p, sd := c.rate(point, zero); math.Abs(p-here) > 0.015 || sd != 0 {
			t.Errorf("mean prediction %.4f, sd %.4f, want %.4f", p, sd, here)
		}
		if p, _ := c.rate(truth, zero); math.Abs(p-there) > 0.02 {
			t.Errorf("mean prediction %.4f far away, want %.4f", p, there)
		}
	}
	c := normal(estimate{matrix: h}, 0, point, zero, n)
	m := &gauss.Moments{Mean: point, Variance: []float64{1, 1, 1}}
	if got := c.shift(m, 0.5, 10); got != 0 {
		t.Errorf("shift %.3f for a rate that says nothing", got)
	}
	m.Mean[2] += c.shift(m, 0.02, 0.001)
	if p, _ := c.rate(m.Mean, m.Variance); math.Abs(p-0.0215) > 1e-9 {
		t.Errorf("mean prediction %.4f after the shift, want 0.0215", p)
	}
}

// TestRare: a rate of 7 % is called rare if its noise is as large, and no other rate is.
func TestRare(t *testing.T) {
	for _, tc := range []struct {
		name      string
		intercept float64
		noise     float64
		want      bool
	}{{"known", -2.4, 0.01, false}, {"noisy", -2.4, 0.08, true}, {"of the other class", 2.4, 0.08, true},
		{"equal classes", 0, 0.08, false}, {"lost", -2.4, 1, false}} {
		t.Run(tc.name, func(t *testing.T) {
			const n = 1000
			point, zero := []float64{0, tc.intercept}, []float64{0, 0}
			p := 1 / (1 + math.Exp(-tc.intercept))
			h := mat.NewSymDense(2, []float64{n * p * (1 - p), 0, 0, n * p * (1 - p)})
			noise := tc.noise * tc.noise * n * n
			tr := Trace{Prior: 1, Points: [][]float64{point}, Scores: [][]float64{zero}, Records: n,
				Noise: mat.NewSymDense(1, nil), Spread: [][]float64{zero}, CurvaturePoint: point,
				CurvatureSpread: zero, Curvature: Curvature{Matrix: h},
				Variance: func([]float64) []float64 { return []float64{0, noise} }}
			if got, err := tr.Rare(); got != tc.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestShare compares with known moments of normal laws that are cut at 0 and 1.
func TestShare(t *testing.T) {
	for _, tc := range []struct{ x, sd, mean, left float64 }{
		{0.3, 0.01, 0.3, 0.01}, {-2, 0, 0, 0},
		{0, 0.01, 0.01 * math.Sqrt(2/math.Pi), 0.01 * math.Sqrt(1-2/math.Pi)},
		{0.2, 1e4, 0.5, math.Sqrt(1.0 / 12)}, {-1, 0.01, 1e-4, 1e-4}, {2, 0.01, 1 - 1e-4, 1e-4},
	} {
		mean, left := share(tc.x, tc.sd)
		if math.Abs(mean-tc.mean) > 1e-4 || math.Abs(left-tc.left) > 1e-4 {
			t.Errorf("%v, sd %v: %.5f, %.5f, want %.5f, %.5f", tc.x, tc.sd, mean, left, tc.mean, tc.left)
		}
	}
}

// TestStartOfRate: the intercept's score where all weights are 0 is the sum of y - 1/2, from that at a point
// far out where few records have class one, to .04: the normal distribution function in the place of the
// logistic one is off by as much. A flat curvature, that of the records there, gives less than half.
func TestStartOfRate(t *testing.T) {
	const n, d = 20_000, 3
	r := rand.New(rand.NewPCG(31, 32))
	c := Class{Records: n, Products: mat.NewSymDense(d, nil), Point: []float64{1, -0.5, -4}}
	want, flat := 0.0, 0.0
	for range n {
		x := mat.NewVecDense(d, []float64{r.NormFloat64(), r.NormFloat64(), 1})
		c.Products.SymRankOne(c.Products, 1./n, x)
		p := 1 / (1 + math.Exp(-mat.Dot(x, mat.NewVecDense(d, c.Point))))
		y := 0.0
		if r.Float64() < p {
			y = 1
		}
		want += y - 0.5
		c.Score += y - p
		flat += p * (1 - p) * c.Point[d-1]
	}
	if got := c.Start(); math.Abs(got/want-1) > 0.04 || flat/want > 0.5 {
		t.Errorf("score %.0f, want %.0f; %.0f by a flat curvature", got, want, flat)
	}
}
