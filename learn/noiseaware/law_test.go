package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// cutAt has scores at a point that are cut to a length, and whole curvatures.
type cutAt struct {
	point []float64
	bound float64
}

func (c cutAt) Score(x []float64, y, _ float64, _ []float64) []float64 {
	score := append([]float64(nil), x...)
	floats.Scale(y-1/(1+math.Exp(-floats.Dot(x, c.point))), score)
	floats.Scale(min(1, c.bound/floats.Norm(score, 2)), score)
	return score
}

func (cutAt) Taken(*mat.SymDense, []float64) {}

// TestLawOfCutRecords: the scores of records that are cut to a quarter of their mean length give weights
// within four standard deviations of the true ones, and without the law of records they don't.
func TestLawOfCutRecords(t *testing.T) {
	const n = 20000
	truth := []float64{1.2, -0.8, 0.3, -0.6}
	of := cutAt{[]float64{0.6, -0.4, 0.1, -0.3}, 0.2}
	d := len(truth)
	r := rand.New(rand.NewPCG(3, 4))
	score, curvature := make([]float64, d), mat.NewSymDense(d, nil)
	for range n {
		x := make([]float64, d)
		for i := range d - 1 {
			x[i] = r.NormFloat64()
		}
		x[d-1] = 1
		y := 0.0
		if r.Float64() < 1/(1+math.Exp(-floats.Dot(x, truth))) {
			y = 1
		}
		floats.Add(score, of.Score(x, y, 0, nil))
		p := 1 / (1 + math.Exp(-floats.Dot(x, of.point)))
		curvature.SymRankOne(curvature, p*(1-p), mat.NewVecDense(d, x))
	}
	exact := Trace{Prior: 1, Points: [][]float64{of.point}, Scores: [][]float64{score},
		Noise: mat.NewSymDense(1, []float64{1}), Spread: [][]float64{make([]float64, d)},
		Variance:        func([]float64) []float64 { return []float64{1, 1, 1, 1} },
		CurvatureSpread: make([]float64, d), CurvaturePoint: of.point, Records: n,
		Curvature: Curvature{Matrix: curvature}}
	for _, known := range []bool{true, false} {
		if exact.Of = nil; known {
			exact.Of = of
		}
		_, single, err := exact.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		far := 0.0
		for i, w := range truth {
			far = max(far, math.Abs(single.Mean[i]-w)/math.Sqrt(single.Variance[i]))
		}
		if (far < 4) != known {
			t.Errorf("known %v: %.1f standard deviations from the truth; %v", known, far, single.Mean)
		}
	}
}

// TestBeside: the variance is that of a mixture of two laws in equal parts, and no more than the prior's.
func TestBeside(t *testing.T) {
	law := &gauss.Moments{Mean: []float64{1, 0}, Variance: []float64{0.04, 0.1}}
	other := &gauss.Moments{Mean: []float64{1.2, 3}, Variance: []float64{0.06, 0.1}}
	got := beside(law, other, 1)
	for i, want := range []float64{0.05 + 0.01, 1} {
		if math.Abs(got.Variance[i]-want) > 1e-12 || got.Mean[i] != law.Mean[i] {
			t.Errorf("weight %d: %v, %v", i, got.Mean[i], got.Variance[i])
		}
	}
}
