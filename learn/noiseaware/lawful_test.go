package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// TestLawOfLongLogits: of weights that are drawn from the prior, of many columns, scores under noise tell the
// direction and little of the length. The posterior's means are as long as the weights, to a tenth on average
// over eight draws, and 90 % intervals cover; the mode is a fifth shorter.
func TestLawOfLongLogits(t *testing.T) {
	const n, d, sd, draws = 3000, 16, 30.0, 8
	var length, mode, cover float64
	for seed := range uint64(draws) {
		truth, tr := longLogits(n, d, sd, seed)
		h, err := tr.Curvature.repaired()
		if err != nil {
			t.Fatal(err)
		}
		v, err := tr.view(h)
		if err != nil {
			t.Fatal(err)
		}
		m, err := tr.cut(v.own, v.at)
		if err != nil {
			t.Fatal(err)
		}
		l, err := tr.law(h, v.at.weights)
		if err != nil {
			t.Fatal(err)
		}
		near, err := tr.solved(v.own, l, v.at)
		if err != nil {
			t.Fatal(err)
		}
		square := floats.Dot(truth, truth)
		length += floats.Dot(truth, m.Mean) / square / draws
		mode += floats.Dot(truth, near.Mean) / square / draws
		for i, w := range truth {
			if math.Abs(w-m.Mean[i]) < 1.645*math.Sqrt(m.Variance[i]) {
				cover += 1. / (d * draws)
			}
		}
	}
	t.Logf("length of the mean %.3f, of the mode %.3f; 90 %% intervals cover %.3f", length, mode, cover)
	if !(math.Abs(length-1) < 0.1 && mode < length-0.05 && cover > 0.82) {
		t.Errorf("length of the mean %.3f, of the mode %.3f; 90 %% intervals cover %.3f", length, mode, cover)
	}
}

// longLogits are weights from the prior, and what a round at .6 of them reveals of n records with noise.
func longLogits(n, d int, sd float64, seed uint64) (truth []float64, tr Trace) {
	r := rand.New(rand.NewPCG(seed, 9))
	truth = make([]float64, d)
	of := cutAt{make([]float64, d), math.Inf(1)}
	for i := range truth {
		truth[i] = r.NormFloat64()
		of.point[i] = 0.6 * truth[i]
	}
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
	variance := make([]float64, d)
	for i := range d {
		score[i] += sd * r.NormFloat64()
		variance[i] = sd * sd
	}
	return truth, Trace{Prior: 1, Points: [][]float64{of.point}, Scores: [][]float64{score},
		Noise: mat.NewSymDense(1, []float64{sd * sd}), Spread: [][]float64{make([]float64, d)},
		Variance:        func([]float64) []float64 { return variance },
		CurvatureSpread: make([]float64, d), CurvaturePoint: of.point, Records: float64(n),
		Curvature: Curvature{Matrix: curvature, SD: 1}, Of: of}
}

// TestTowards: a mean within a standard deviation of the law's, as a root mean square, stays, and
// another one is moved to there.
func TestTowards(t *testing.T) {
	law := &gauss.Moments{Mean: []float64{1, 2}, Variance: []float64{4, 1},
		Covariance: mat.NewSymDense(2, []float64{4, 0, 0, 1})}
	other := mat.NewSymDense(2, []float64{1, 0.5, 0.5, 1})
	for _, c := range []struct{ mean, want []float64 }{
		{[]float64{2.6, 2.8}, []float64{2.6, 2.8}}, // .8 of both
		{[]float64{5, 4}, []float64{3, 3}},         // 2 of both
	} {
		got := towards(law, &gauss.Moments{Mean: c.mean, Covariance: other})
		if !floats.EqualApprox(got.Mean, c.want, 1e-12) {
			t.Errorf("from %v to %v, want %v", c.mean, got.Mean, c.want)
		}
	}
	got := towards(law, &gauss.Moments{Mean: []float64{5, 4}, Covariance: other})
	if want := 0.5*1 + 0.5*4; math.Abs(got.Variance[0]-want) > 1e-12 {
		t.Errorf("variances %v, want %v first", got.Variance, want)
	}
}

// TestAside: single weights keep another mean within a quarter of a standard deviation.
func TestAside(t *testing.T) {
	law := &gauss.Moments{Mean: []float64{1, 0.2}, Variance: []float64{0.04, 0.01}}
	for _, c := range []struct{ mean, want []float64 }{
		{[]float64{1.04, 0.22}, []float64{1.04, 0.22}}, // .2 of both
		{[]float64{1.4, 0.4}, []float64{1.05, 0.225}},  // 2 of both
	} {
		got := aside(law, &gauss.Moments{Mean: c.mean, Variance: []float64{0.04, 0.01}}, 1)
		if !floats.EqualApprox(got.Mean, c.want, 1e-12) {
			t.Errorf("from %v to %v, want %v", c.mean, got.Mean, c.want)
		}
		if c.mean[0] > 1.3 && math.Abs(got.Variance[0]-0.04-0.125*0.875*0.16) > 1e-12 {
			t.Errorf("variances %v of a mixture", got.Variance)
		}
	}
}

// TestLawIsRefused: where scores are not of the law, none follows from it.
func TestLawIsRefused(t *testing.T) {
	_, tr := longLogits(3000, 16, 30, 1)
	for i := range tr.Scores[0] {
		tr.Scores[0][i] *= 10
	}
	h, err := tr.Curvature.repaired()
	if err != nil {
		t.Fatal(err)
	}
	v, err := tr.view(h)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := tr.cut(v.own, v.at); err == nil {
		t.Errorf("mean %v of scores that no weights have", m.Mean)
	}
}
