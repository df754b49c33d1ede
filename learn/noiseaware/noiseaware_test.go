package noiseaware

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// autoregression is n times the correlation matrix rho^|i-j|.
func autoregression(d int, rho, n float64) *mat.SymDense {
	h := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			h.SetSym(i, j, n*math.Pow(rho, float64(j-i)))
		}
	}
	return h
}

// problem draws weights, an estimate of them and R rounds of noisy scores at points that know nothing of
// them.
func problem(r *rand.Rand, h *mat.SymDense, rounds int, sd, curvatureSD float64) (Trace, []float64) {
	d := h.SymmetricDim()
	var root mat.Cholesky
	if !root.Factorize(h) {
		panic("indefinite")
	}
	truth, estimate := make([]float64, d), mat.NewVecDense(d, nil)
	for i := range truth {
		truth[i] = r.NormFloat64()
		estimate.SetVec(i, r.NormFloat64())
	}
	var u mat.TriDense
	root.UTo(&u)
	if err := estimate.SolveVec(&u, estimate); err != nil { // N(0, H^-1)
		panic(err)
	}
	estimate.AddVec(estimate, mat.NewVecDense(d, truth))
	t := Trace{Prior: 1, Noise: mat.NewSymDense(rounds, nil), Curvature: Curvature{mat.NewSymDense(d, nil),
		curvatureSD}}
	t.Curvature.Matrix.CopySym(h)
	for i := range d {
		for j := i; j < d; j++ {
			e := curvatureSD * r.NormFloat64()
			if i == j {
				e *= math.Sqrt2
			}
			t.Curvature.Matrix.SetSym(i, j, h.At(i, j)+e)
		}
	}
	start := make([]float64, d)
	for i := range start {
		start[i] = 0.5 * r.NormFloat64()
	}
	for s := range rounds {
		t.Noise.SetSym(s, s, sd*sd)
		point := make([]float64, d)
		gap := mat.NewVecDense(d, nil)
		for i := range point {
			point[i] = start[i] + 0.02*r.NormFloat64()
			gap.SetVec(i, estimate.AtVec(i)-point[i])
		}
		gap.MulVec(h, gap)
		score := gap.RawVector().Data
		for i := range score {
			score[i] += sd * r.NormFloat64()
		}
		t.Points = append(t.Points, point)
		t.Scores = append(t.Scores, score)
	}
	t.Variance = func(w []float64) []float64 {
		v := 0.0
		for _, x := range w {
			v += x * x * sd * sd
		}
		out := make([]float64, d)
		for i := range out {
			out[i] = v
		}
		return out
	}
	return t, truth
}

// TestSingleWeightsKeepThePrior: no weight's variance is above the prior's, though the two laws of a
// logistic model's scores disagree. In some draws their mixture's is.
func TestSingleWeightsKeepThePrior(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	h := autoregression(4, 0.5, 20)
	above := 0
	for range 60 {
		tr, _ := problem(r, h, 3, 8, 0)
		for s, p := range tr.Points {
			for i := range p {
				p[i] += 2 * r.NormFloat64()
			}
			tr.Spread = append(tr.Spread, make([]float64, 4))
			tr.CurvaturePoint, tr.CurvatureSpread = tr.Points[s], tr.Spread[s]
		}
		a, err := tr.under()
		if err != nil {
			t.Fatal(err)
		}
		m, err := tr.predicting(a)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range a.single.Variance {
			if v > 1/tr.Prior {
				t.Errorf("weight %d has the variance %v", i, v)
			}
			if m.Variance[i] > 1/tr.Prior {
				above++
			}
		}
	}
	if above == 0 {
		t.Error("no mixture is wider than the prior: the check is idle")
	}
}

// TestWithoutNoise: the posterior is that of the data.
func TestWithoutNoise(t *testing.T) {
	h := autoregression(4, 0.5, 50)
	tr, _ := problem(rand.New(rand.NewPCG(1, 2)), h, 3, 0, 0)
	m, _, err := tr.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	p := mat.NewSymDense(4, nil)
	p.CopySym(h)
	for i := range 4 {
		p.SetSym(i, i, p.At(i, i)+1)
	}
	b := mat.NewVecDense(4, nil)
	b.MulVec(h, mat.NewVecDense(4, tr.Points[2]))
	b.AddVec(b, mat.NewVecDense(4, tr.Scores[2]))
	var c mat.Cholesky
	if !c.Factorize(p) {
		t.Fatal("indefinite")
	}
	want := mat.NewVecDense(4, nil)
	if err := c.SolveVecTo(want, b); err != nil {
		t.Fatal(err)
	}
	var covariance mat.SymDense
	if err := c.InverseTo(&covariance); err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(want, mat.NewVecDense(4, m.Mean), 1e-8) ||
		!mat.EqualApprox(&covariance, m.Covariance, 1e-8) {
		t.Errorf("%v and %v, want %v and %v", m.Mean, m.Variance, want, covariance)
	}
}

// TestCoverage: intervals cover as often as they claim, with the curvature known or noisy, and
// without their noise they would not. The noise on all weights of a draw comes by the same curvature:
// 90 % intervals of 40 draws cover .9 with a standard error of at most .03. The draws are fixed.
func TestCoverage(t *testing.T) {
	for _, tc := range []struct {
		name        string
		columns     int
		rho         float64
		sd          float64
		curvatureSD float64
	}{{"data decide", 12, 0.4, 3, 0}, {"noise decides", 12, 0.4, 100, 0}, {"noisy curvature", 12, 0.4, 100, 30},
		{"correlated", 12, 0.8, 100, 30}, {"few columns", 5, 0.5, 30, 150}} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			h := autoregression(tc.columns, tc.rho, 500)
			in, all := 0.0, 0.0
			for range 40 {
				tr, truth := problem(r, h, 5, tc.sd, tc.curvatureSD)
				_, single, err := tr.Posterior()
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range truth {
					if math.Abs(single.Mean[i]-w) <= 1.6449*math.Sqrt(single.Variance[i]) {
						in++
					}
					all++
				}
			}
			if got := in / all; got < 0.84 || got > 0.96 {
				t.Errorf("90 %% intervals cover %.3f", got)
			}
		})
	}
}

// TestRepaired: the estimate of a noisy matrix is positive semidefinite and much nearer to the
// matrix than the noisy one is.
func TestRepaired(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const d = 40
	h := autoregression(d, 0.8, 1)
	noisy := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			noisy.SetSym(i, j, h.At(i, j)+0.1*r.NormFloat64())
		}
	}
	e, err := Curvature{noisy, 0.1}.repaired()
	if err != nil {
		t.Fatal(err)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(e.matrix, false) || eigen.Values(nil)[0] < 0 {
		t.Errorf("eigenvalues %v", eigen.Values(nil))
	}
	distance := func(m *mat.SymDense) float64 {
		var diff mat.Dense
		diff.Sub(m, h)
		return mat.Norm(&diff, 2)
	}
	if before, after := distance(noisy), distance(e.matrix); after > 0.8*before {
		t.Errorf("distance %.3f before, %.3f after", before, after)
	}
}

// TestPositive: the truncated mean by numerical integration, also far in the tail.
func TestPositive(t *testing.T) {
	for _, x := range []float64{-60, -25, -5, -1, 0, 0.5, 3, 40} {
		const s = 2.0
		var mass, first float64
		low := max(0, x-12*s)
		for p := low + 0.00005; p < max(4, x+12*s); p += 0.0001 {
			w := math.Exp(-(p-x)*(p-x)/(2*s*s) + min(x, 0)*min(x, 0)/(2*s*s))
			mass += w
			first += w * p
		}
		if want, got := first/mass, positive(x, s); math.Abs(got-want) > 0.02*want {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestDiagonal: without noise, at the point where it was computed, it is the exact posterior of
// independent columns; with all noise it is the prior. Unknown correlations widen intervals
// only, and precisions that noise alone sets apart are taken for equal.
func TestDiagonal(t *testing.T) {
	d := Diagonal{Prior: 1, Scores: []float64{6, -3}, Precision: []float64{2, 5}, Point: []float64{2, -0.5},
		Origin: make([]float64, 2), ScoreNoise: make([]float64, 2), PrecisionNoise: make([]float64, 2)}
	m, single := d.Posterior()
	if math.Abs(m.Mean[0]-2) > 1e-12 || math.Abs(m.Variance[1]-1.0/6) > 1e-12 {
		t.Errorf("%+v", m)
	}
	if !(single.Variance[0] > 1.2*m.Variance[0] && single.Variance[0] <= 1) {
		t.Errorf("variances %v, %v with correlations", m.Variance, single.Variance)
	}
	d.ScoreNoise = []float64{1e12, 1e12}
	d.PrecisionNoise = []float64{4e12, 4e12}
	m, single = d.Posterior()
	if math.Abs(m.Mean[0]) > 1e-3 || math.Abs(m.Variance[1]-1) > 0.5 || math.Abs(single.Variance[0]-1) > 0.5 {
		t.Errorf("%+v, %v", m, single)
	}
	d.ScoreNoise = []float64{9, 9}
	d.PrecisionNoise = []float64{36, 36}
	d.Scores[0] = 3
	d.Point = []float64{0, 0}
	m, _ = d.Posterior()
	if math.Abs(m.Variance[0]-m.Variance[1]) > 1e-6 {
		t.Errorf("variances %v of precisions within the noise", m.Variance)
	}
}

// TestDiagonalFloor: a mean that predicts is never longer than the public posterior's, and an error of
// the precisions makes intervals wider and moves no mean.
func TestDiagonalFloor(t *testing.T) {
	d := Diagonal{Prior: 1, Floor: 50, Scores: []float64{40, 4, 900}, Precision: []float64{20, 20, 600},
		Point: make([]float64, 3), Origin: make([]float64, 3), ScoreNoise: []float64{400, 4, 400}}
	e := []float64{0, 0, 0}
	prior := []float64{1, 1, 1}
	m := d.predictive(e, prior)
	// Shrunk by its noise, p h/(p + v + p^2), the first one is 40/42 and the third 540/361.
	for i, want := range []float64{40.0 / 50, 4.0 / 50, 540.0 / 361} {
		if math.Abs(m.Mean[i]-want) > 1e-12 {
			t.Errorf("mean %d is %v, want %v", i, m.Mean[i], want)
		}
	}
	if v := 1 / (50 + 600*600.0/1000); math.Abs(m.Variance[2]-v) > 1e-12 {
		t.Errorf("variance %v, want %v", m.Variance[2], v)
	}
	wide := d.predictive([]float64{400, 400, 400}, prior)
	if !slices.Equal(wide.Mean, m.Mean) || wide.Variance[2] <= m.Variance[2] {
		t.Errorf("%v and %v with an error of the precisions, %v and %v without", wide.Mean, wide.Variance,
			m.Mean, m.Variance)
	}
}
