package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestArc compares the bend with sums over many normal records: from the curvature at one point
// follows the expected score at it for weights that are far away.
func TestArc(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	point, truth := []float64{0.3, -0.2, 0.1, -0.4}, []float64{1.1, -0.9, 0.6, -0.8}
	d := len(point)
	h := mat.NewSymDense(d, nil)
	score := make([]float64, d)
	slope := func(p float64) float64 { return p * (1 - p) }
	for range n {
		x := []float64{r.NormFloat64(), 0, r.NormFloat64(), 1}
		x[1] = 0.6*x[0] + 0.8*r.NormFloat64()
		at, to := 0.0, 0.0
		for i, v := range x {
			at += point[i] * v
			to += truth[i] * v
		}
		p, q := 1/(1+math.Exp(-at)), 1/(1+math.Exp(-to))
		h.SymRankOne(h, slope(p), mat.NewVecDense(d, x))
		for i, v := range x {
			score[i] += (q - p) * v
		}
	}
	zero := make([]float64, d)
	b := arc(estimate{matrix: h}, point, zero, 0, 0)
	var there, here mat.VecDense
	there.MulVec(b.pull, mat.NewVecDense(d, truth))
	here.MulVec(b.pull, mat.NewVecDense(d, point))
	var line mat.VecDense
	line.MulVec(h, difference(truth, point))
	for i := range d - 1 {
		got := b.truth(truth, zero)*there.AtVec(i) - b.factor(point, zero)*here.AtVec(i)
		straight := line.AtVec(i)
		if math.Abs(got-score[i]) > 0.05*math.Abs(score[i]) {
			t.Errorf("coordinate %d: score %.0f, want %.0f; the chord's is %.0f", i, got, score[i], straight)
		}
	}
}

func difference(a, b []float64) *mat.VecDense {
	out := mat.NewVecDense(len(a), nil)
	out.SubVec(mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
	return out
}
