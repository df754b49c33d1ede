package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestPredictive: where columns belong together and noise hides all but the largest eigenvalues of the
// curvature, the posterior that predicts loses less than a quarter of what single weights would, on
// average over noise. Loud noise leaves the public posterior out.
func TestPredictive(t *testing.T) {
	const d, draws = 9, 12
	r := rand.New(rand.NewPCG(7, 8))
	h := mat.NewSymDense(d, nil) // eight columns correlated by .95, and the bias
	for i := range d {
		h.SetSym(i, i, 400)
		for j := range i {
			if i < d-1 {
				h.SetSym(i, j, 380)
			}
		}
	}
	truth := []float64{1.5, -1, 2, -1.5, 1, -2, 1.5, -1, 0.5}
	lost := func(mean []float64) float64 {
		way := mat.NewVecDense(d, nil)
		for i, w := range mean {
			way.SetVec(i, w-truth[i])
		}
		return mat.Inner(way, h, way) / 2
	}
	var predicts, single float64
	for range draws {
		tr := trace(r, h, truth, 5, 100)
		m, of, err := tr.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		predicts += lost(m.Mean) / draws
		single += lost(of.Mean) / draws
	}
	if !(predicts < single/4) {
		t.Errorf("predictions lose %.1f nats, single weights %.1f", predicts, single)
	}
	loud := trace(r, h, truth, 500, 100)
	m, of, err := loud.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range m.Mean {
		if math.Abs(x-of.Mean[i]) > 1e-12 {
			t.Errorf("weight %d is %v in predictions and %v by itself", i, x, of.Mean[i])
		}
	}
}

// trace is a round at a point near the truth, with the curvature h and noise of these standard
// deviations on its score and on the curvature.
func trace(r *rand.Rand, h *mat.SymDense, truth []float64, sd, curvatureSD float64) Trace {
	d := len(truth)
	point, spread := make([]float64, d), make([]float64, d)
	noisy := mat.NewSymDense(d, nil)
	for i := range d {
		point[i] = truth[i] + 0.05*r.NormFloat64()
		for j := i; j < d; j++ {
			e := curvatureSD * r.NormFloat64()
			if i == j {
				e *= math.Sqrt2
			}
			noisy.SetSym(i, j, h.At(i, j)+e)
		}
	}
	score := mat.NewVecDense(d, nil)
	for i := range d {
		score.SetVec(i, truth[i]-point[i])
	}
	score.MulVec(h, score)
	for i := range d {
		score.SetVec(i, score.AtVec(i)+sd*r.NormFloat64())
	}
	return Trace{Prior: 1, Points: [][]float64{point}, Scores: [][]float64{score.RawVector().Data},
		Noise: mat.NewSymDense(1, []float64{sd * sd}), Spread: [][]float64{spread}, Records: 1600,
		Curvature: Curvature{Matrix: noisy, SD: curvatureSD}, CurvaturePoint: point, CurvatureSpread: spread,
		Variance: func([]float64) []float64 {
			v := make([]float64, d)
			for i := range v {
				v[i] = sd * sd
			}
			return v
		}}
}
