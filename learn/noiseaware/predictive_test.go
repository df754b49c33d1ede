package noiseaware

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestPredictive: where columns belong together and noise hides all but the largest eigenvalues of the
// curvature, the posterior that predicts loses less than a quarter of what single weights would, on
// average over noise, and hardly more than the public one. Loud noise leaves the public slopes out.
func TestPredictive(t *testing.T) {
	h, truth := belonging()
	r := rand.New(rand.NewPCG(7, 8))
	predicts, single, public := losses(t, func() Trace { return trace(r, h, truth, 5, 100) }, h, truth)
	if !(predicts < single/4 && predicts < public+1) {
		t.Errorf("predictions lose %.1f nats, single weights %.1f, the public ones %.1f", predicts, single, public)
	}
	loud := trace(r, h, truth, 500, 100)
	var means [2][]float64
	for k := range means {
		m, _, err := loud.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		means[k] = m.Mean
		loud.Public = scaled(loud.Public, 10)
		loud.Public[len(truth)-1] /= 10
	}
	if !slices.Equal(means[0], means[1]) {
		t.Errorf("loud noise: %.2f, and with longer slopes of the public posterior %.2f", means[0], means[1])
	}
}

// TestPredictiveGoesOn: where the public posterior is on its way and noise is small, the one that predicts
// loses less than a third, on average over noise, though no round has been where the public mean is. Half of
// it is the arc, whose scores are not these.
func TestPredictiveGoesOn(t *testing.T) {
	h, truth := belonging()
	r := rand.New(rand.NewPCG(9, 10))
	way := func() Trace {
		tr := trace(r, h, truth, 5, 5)
		tr.Points[0] = scaled(truth, 0.8)
		tr.Scores[0] = score(r, h, truth, tr.Points[0], 5)
		tr.CurvaturePoint, tr.Public = tr.Points[0], scaled(truth, 0.7)
		return tr
	}
	predicts, _, public := losses(t, way, h, truth)
	if !(predicts < public/3) {
		t.Errorf("predictions lose %.1f nats, the public ones %.1f", predicts, public)
	}
}

// TestWeightsNear: rounds at the distances 1 and 2 with noise of variance 1 have the weights (1 + 2v)/(2 + v)
// and (1 - v)/(2 + v) for an error of the curvature of variance v, which minimise the variance of the score.
func TestWeightsNear(t *testing.T) {
	tr := Trace{Points: [][]float64{{1}, {2}}, Noise: mat.NewSymDense(2, []float64{1, 0, 0, 1})}
	for _, v := range []float64{0, 0.5, 3} {
		w, err := tr.weights(mat.NewSymDense(1, nil), []float64{0}, v)
		if err != nil {
			t.Fatal(err)
		}
		if want := (1 + 2*v) / (2 + v); math.Abs(w[0]-want) > 1e-6 || math.Abs(w[0]+w[1]-1) > 1e-12 {
			t.Errorf("error %v: weights %v, want %v for the first", v, w, want)
		}
	}
}

// TestRoundsThatLackTheSame: ten rounds at the end that lack the same half of the records, whose
// errors have the variance of the curvature h, have the weights of independent ones beside ten
// complete ones at a distance r, which err by (h r)^2: 1/h over 1/h + 1/(h r)^2 together. The
// posterior counts the errors as one.
func TestRoundsThatLackTheSame(t *testing.T) {
	const n, h, r = 10, 300, 0.25
	tr := Trace{Noise: mat.NewSymDense(2*n, nil), Errors: mat.NewSymDense(2*n, nil)}
	for s := range 2 * n {
		tr.Points = append(tr.Points, []float64{r})
		if s >= n {
			tr.Points[s][0] = 0
			for j := n; j < 2*n; j++ {
				tr.Errors.SetSym(s, j, 1)
			}
		}
	}
	w, err := tr.weights(mat.NewSymDense(1, []float64{h}), tr.last(), 0)
	if err != nil {
		t.Fatal(err)
	}
	near := floats.Sum(w[n:])
	if want := h * r * r / (h*r*r + 1); math.Abs(near-want) > 1e-6 {
		t.Errorf("the last rounds weigh %v, want %v", near, want)
	}
	if v := tr.errors(w); math.Abs(v-near*near) > 1e-9 {
		t.Errorf("errors of %v, want %v", v, near*near)
	}
}

// belonging is the curvature of eight columns correlated by .95 and the bias, and weights.
func belonging() (*mat.SymDense, []float64) {
	const d = 9
	h := mat.NewSymDense(d, nil)
	for i := range d {
		h.SetSym(i, i, 400)
		for j := range i {
			if i < d-1 {
				h.SetSym(i, j, 380)
			}
		}
	}
	return h, []float64{1.5, -1, 2, -1.5, 1, -2, 1.5, -1, 0.5}
}

// losses are what the means of the posterior that predicts, of single weights and of the public posterior
// lose, in nats and on average over draws.
func losses(t *testing.T, draw func() Trace, h *mat.SymDense,
	truth []float64) (predicts, single, public float64) {
	t.Helper()
	const draws = 12
	lost := func(mean []float64) float64 {
		way := mat.NewVecDense(len(mean), nil)
		for i, w := range mean {
			way.SetVec(i, w-truth[i])
		}
		return mat.Inner(way, h, way) / 2
	}
	for range draws {
		tr := draw()
		m, of, err := tr.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		predicts += lost(m.Mean) / draws
		single += lost(of.Mean) / draws
		public += lost(tr.Public) / draws
	}
	return predicts, single, public
}

// scaled is x times by.
func scaled(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = by * v
	}
	return out
}

// score is that of a likelihood with the curvature h at a point, with noise of this standard deviation.
func score(r *rand.Rand, h *mat.SymDense, truth, point []float64, sd float64) []float64 {
	out := mat.NewVecDense(len(truth), nil)
	for i := range truth {
		out.SetVec(i, truth[i]-point[i])
	}
	out.MulVec(h, out)
	for i := range truth {
		out.SetVec(i, out.AtVec(i)+sd*r.NormFloat64())
	}
	return out.RawVector().Data
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
	return Trace{Prior: 1, Points: [][]float64{point}, Scores: [][]float64{score(r, h, truth, point, sd)},
		Noise: mat.NewSymDense(1, []float64{sd * sd}), Spread: [][]float64{spread}, Records: 1600,
		Curvature: Curvature{Matrix: noisy, SD: curvatureSD}, CurvaturePoint: point, CurvatureSpread: spread,
		Public: point,
		Variance: func([]float64) []float64 {
			v := make([]float64, d)
			for i := range v {
				v[i] = sd * sd
			}
			return v
		}}
}
