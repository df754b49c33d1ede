package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestJointOfWeights: the covariance of the mean with the errors of the scores, of the weights, is the
// mean's derivative by their scores times these errors, by differences of the posterior itself. They are
// those of the noise, of sampling, and of a curvature times the way. Of the scores s of the weights those in
// phi are F^-1 s.
func TestJointOfWeights(t *testing.T) {
	const d = 3
	g := &geometry{factor: triangle{d, []float64{3, 0, 0, 1, 2, 0, -1, 0.5, 4}}}
	diagonal := func(v ...float64) *mat.SymDense {
		m := mat.NewSymDense(d, nil)
		for i, x := range v {
			m.SetSym(i, i, x)
		}
		return m
	}
	h := mat.NewSymDense(d, []float64{0.5, 0.1, 0, 0.1, 0.4, -0.1, 0, -0.1, 0.7})
	posterior := func(gradient []float64) (evidence, *approximation, []float64) {
		e := evidence{At: []float64{0.5, -1, 2}, Gradient: gradient, Curvature: h, Noise: 2,
			Prior: diagonal(0.1, 0.2, 0.3)}
		q, err := tracePosterior(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.keep = 1 // as if it didn't depend on the gradient
		w := append([]float64(nil), q.mean...)
		g.factor.solveT(w)
		return e, q, w
	}
	at := []float64{3, -2, 1}
	e, q, w := posterior(at)
	const doubt = 0.3
	joint, noise, err := g.joint(e, q, doubt)
	if err != nil {
		t.Fatal(err)
	}
	slope := mat.NewDense(d, d, nil)
	for j := range d {
		way := make([]float64, d)
		way[j] = 1
		g.factor.solve(way)
		add(way, 1, at)
		_, _, moved := posterior(way)
		for i := range d {
			slope.Set(i, j, moved[i]-w[i])
		}
	}
	var want mat.Dense
	want.Mul(slope, noise)
	if !mat.EqualApprox(joint, &want, 1e-9) {
		t.Errorf("covariance %v, want %v", mat.Formatted(joint), mat.Formatted(&want))
	}
	var whole mat.SymDense
	whole.AddSym(h, diagonal(e.Noise, e.Noise, e.Noise))
	whole.SymRankOne(&whole, doubt*doubt, mat.NewVecDense(d, e.At))
	u := g.factor.mulT(w)
	near(t, "noise", mat.Inner(mat.NewVecDense(d, w), noise, mat.NewVecDense(d, w)),
		mat.Inner(mat.NewVecDense(d, u), &whole, mat.NewVecDense(d, u)), 1e-9)
}

// TestResponseToNoise: where scores are noise alone, and curvatures too, the mean times the scores where all
// weights are 0 is on average what the response says of it. By the covariance of the mixture, which is widest
// along the mean, it was half of that. The sum of 40 has a relative error of about .06.
func TestResponseToNoise(t *testing.T) {
	const d, curved, noise, doubt, length = 16, 0.05, 6, 0.4, 80
	rng := rand.New(rand.NewPCG(3, 4))
	prior := mat.NewSymDense(d, nil)
	got, said := 0.0, 0.0
	for seed := range uint64(40) {
		e := evidence{At: make([]float64, d), Gradient: make([]float64, d), Curvature: mat.NewSymDense(d, nil),
			Noise: noise, CurvatureNoise: doubt, Prior: prior, Logits: 0.025}
		scores := make([]float64, d)
		for i := range d {
			prior.SetSym(i, i, 0.001)
			e.At[i] = length / math.Sqrt(d) * rng.NormFloat64()
			scores[i] = math.Sqrt(curved+noise) * rng.NormFloat64()
			e.Gradient[i] = scores[i] - curved*e.At[i]
			for j := range i {
				e.Curvature.SetSym(i, j, doubt/math.Sqrt2*rng.NormFloat64())
			}
			e.Curvature.SetSym(i, i, curved+doubt*rng.NormFloat64())
		}
		coins, err := Public{Seed: [32]byte{byte(seed)}}.coinsOf(stepping, 0, sumsHash{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := tracePosterior(e, coins)
		if err != nil {
			t.Fatal(err)
		}
		total := q.by.total(e.Noise)
		response, err := e.response(q, total)
		if err != nil {
			t.Fatal(err)
		}
		var all mat.Dense
		all.Mul(response, total)
		got += q.keep * dot(q.mean, scores)
		said += mat.Trace(&all)
	}
	t.Logf("mean times scores over what the response says: %.2f", got/said)
	if r := got / said; !(r > 0.8 && r < 1.25) {
		t.Errorf("mean times scores are %.2f times what the response says", r)
	}
}

// TestMovedTwice: a mean that was shortened twice counts all of the way, and the prior's variance at most.
func TestMovedTwice(t *testing.T) {
	tr := trace{&base{cfg: Config{PriorPrecision: 1}}}
	p := &Posterior{Mean: []float64{0.1, 0, 3},
		Covariance: mat.NewSymDense(3, []float64{0.5, 0, 0, 0, 0.5, 0, 0, 0, 2})}
	for i, want := range []float64{0.5 + 0.6*0.6, 1, 2} {
		if got := tr.moved(p, []float64{0.7, 5, 9})[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("weight %d: %v, want %v", i, got, want)
		}
	}
}
