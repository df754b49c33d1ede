package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"

	"gonum.org/v1/gonum/mat"
)

// TestLengths: the moments of weights with long logits are those of the arc's density itself, by weighted
// draws from a wider law. These count as some 2,800 of equal weights, whose means err by .02 standard
// deviations and whose variances by .03. Spheres err, too: moments are linear in the square of the length.
func TestLengths(t *testing.T) {
	const d, draws = 10, 40_000
	r := rand.New(rand.NewPCG(3, 5))
	e := evidence{At: make([]float64, d), Gradient: make([]float64, d), Curvature: mat.NewSymDense(d, nil),
		Noise: 0.5, Prior: mat.NewSymDense(d, nil), Logits: 0.05}
	for i := range d {
		e.At[i] = 25 + 10*r.NormFloat64()
		e.Gradient[i] = 0.2 * r.NormFloat64()
		e.Prior.SetSym(i, i, 0.0005)
	}
	h := e.shape(1)
	h.ScaleSym(0.6*steepness(e.Logits, e.At)/steepness(0, e.At), h)
	c := curved{h, 0}
	e.Curvature = h
	c.lost = e.lost(h, 0)
	l, err := newArcLaw(e, c)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := l.moments(math.Sqrt(dot(e.At, e.At)))
	if err != nil {
		t.Fatal(err)
	}
	mean, square := weighted(t, e, c, m, draws, r)
	for i := range d {
		sd := math.Sqrt(square.At(i, i))
		if off := (m.mean[i] - mean[i]) / sd; math.Abs(off) > 0.15 {
			t.Errorf("mean %d: %.2f, want %.2f, %.2f standard deviations off", i, m.mean[i], mean[i], off)
		}
		if by := m.covariance.At(i, i) / square.At(i, i); by < 0.8 || by > 1.2 {
			t.Errorf("variance %d: %.2f, %.2f of what it should be", i, m.covariance.At(i, i), by)
		}
	}
}

// weighted are the mean and the covariance of the arc's density by draws from a normal law that is twice as
// wide as these moments, weighted.
func weighted(t *testing.T, e evidence, c curved, m *moments, draws int,
	r *rand.Rand) (mean []float64, square *mat.SymDense) {
	t.Helper()
	d := len(e.At)
	wide := mat.NewSymDense(d, nil)
	wide.ScaleSym(2, m.covariance)
	var chol mat.Cholesky
	if !chol.Factorize(wide) {
		t.Fatal("no covariance")
	}
	var root mat.TriDense
	chol.LTo(&root)
	full := e.arc(c, 1)
	total := 0.0
	mean, square = make([]float64, d), mat.NewSymDense(d, nil)
	z, w, rest, solved := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil),
		mat.NewVecDense(d, nil)
	var best float64
	first := true
	for range draws {
		for i := range d {
			z.SetVec(i, r.NormFloat64())
		}
		w.MulVec(&root, z)
		w.AddVec(w, mat.NewVecDense(d, m.mean))
		f := steepness(e.Logits, w.RawVector().Data) / steepness(e.Logits, e.At)
		rest.MulVec(full.pull, w)
		rest.AddScaledVec(full.start, -f, rest)
		scatter := mat.NewSymDense(d, nil)
		scatter.ScaleSym(f, c.h)
		for i := range d {
			scatter.SetSym(i, i, scatter.At(i, i)+e.Noise)
		}
		var s mat.Cholesky
		if !s.Factorize(scatter) || s.SolveVecTo(solved, rest) != nil {
			t.Fatal("no scatter")
		}
		log := (mat.Dot(z, z) - s.LogDet() - mat.Dot(rest, solved) - mat.Inner(w, e.Prior, w)) / 2
		if first {
			best, first = log, false
		}
		weight := math.Exp(log - best)
		total += weight
		add(mean, weight, w.RawVector().Data)
		square.SymRankOne(square, weight, w)
	}
	scale(mean, 1/total)
	square.ScaleSym(1/total, square)
	square.SymRankOne(square, -1, mat.NewVecDense(d, mean))
	return mean, square
}

// TestSearchReachesLongLogits: without noise the states' mean is near weights whose logits have a standard
// deviation of 6. Steps of Newton's method with a ridge ended at .85 of them.
func TestSearchReachesLongLogits(t *testing.T) {
	const n, d = 4000, 12
	r := rand.New(rand.NewPCG(1, 9))
	truth := make([]float64, d)
	for i := range truth {
		truth[i] = 6 / math.Sqrt(d-1) * float64(1-2*(i%2))
	}
	truth[d-1] = 0.5
	data := bayes.Data{X: make([]float64, n*d), Y: make([]float64, n)}
	for i := range n {
		x := data.X[i*d : (i+1)*d]
		for j := range d - 1 {
			x[j] = r.NormFloat64()
		}
		x[d-1] = 1
		if r.Float64() < sigmoid(dot(x, truth)) {
			data.Y[i] = 1
		}
	}
	cfg := config(Trace, n, d)
	cfg.Radius, cfg.Rounds = 6, 100
	cfg.ScaleRounds, cfg.LocateRounds, cfg.CurvatureRounds, cfg.WarmRounds = 3, 10, 6, 14
	s, err := New(cfg, Public{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := run(t.Context(), cfg, Public{}, learners(t, cfg, Public{}, data), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := s.(*base)
	st, err := cfg.open(raw)
	if err != nil {
		t.Fatal(err)
	}
	tr := b.move.(trace)
	g := tr.geometry(st)
	at := tr.evidence(g, st).At
	g.factor.solveT(at)
	if share := dot(at, truth) / dot(truth, truth); share < 0.92 || share > 1.08 {
		t.Errorf("the search ends at %.2f of the weights", share)
	}
}
