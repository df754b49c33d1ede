package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// targets turns records into a regression problem.
func targets(seed uint64, n, d int) (x, y []float64) {
	x, y = records(seed, n, d)
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range y {
		y[i] = 2*x[i*d] - x[i*d+d-1] + 0.3*r.NormFloat64()
	}
	return x, y
}

// statistics are X'X/noise^2 and X'y/noise^2 by the book.
func statistics(x, y []float64, d int, noise float64) (gram *mat.Dense, xy *mat.VecDense) {
	xm := mat.NewDense(len(y), d, x)
	gram, xy = new(mat.Dense), new(mat.VecDense)
	gram.Mul(xm.T(), xm)
	gram.Scale(1/(noise*noise), gram)
	xy.MulVec(xm.T(), mat.NewVecDense(len(y), y))
	xy.ScaleVec(1/(noise*noise), xy)
	return gram, xy
}

func TestFullLinearUpdateIsConjugate(t *testing.T) {
	const d, n, noise = 4, 15, 0.5
	x, y := targets(1, n, d)
	s := gauss.Space{Family: gauss.Full, Features: d}
	l := newLinear(s, x, y, noise, 1)
	q := make([]float64, s.Dim())
	cavity := make([]float64, s.Dim())
	dst := make([]float64, s.Dim())
	for i := range q {
		q[i], cavity[i] = float64(i)-3, 2-float64(i*i) // neither needs to be proper
	}
	l.Update(nil, dst, q, cavity)
	gram, xy := statistics(x, y, d, noise)
	for i := range d {
		want := cavity[i] + xy.AtVec(i) - q[i]
		if math.Abs(dst[i]-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("linear coordinate %d: %v, want %v", i, dst[i], want)
		}
		for j := i; j < d; j++ {
			scale := -1.0
			if i == j {
				scale = -0.5
			}
			at := s.Index(i, j)
			want := cavity[at] + scale*gram.At(i, j) - q[at]
			if math.Abs(dst[at]-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("precision coordinate (%d, %d): %v, want %v", i, j, dst[at], want)
			}
		}
	}
}

// energy is the mean-field free energy of linear regression up to a constant.
func energy(x, y []float64, noise float64, mean, variance, cavity []float64) float64 {
	d := len(mean)
	var e float64
	for i, yi := range y {
		row := x[i*d : (i+1)*d]
		r := yi - floats.Dot(row, mean)
		e -= 0.5 * r * r / (noise * noise)
		for j, v := range row {
			e -= 0.5 * v * v * variance[j] / (noise * noise)
		}
	}
	for i := range d {
		e += 0.5*math.Log(variance[i]) + cavity[i]*mean[i] + cavity[d+i]*(mean[i]*mean[i]+variance[i])
	}
	return e
}

func TestMeanFieldLinearUpdateIsTheOptimum(t *testing.T) {
	const d, n, noise = 4, 6, 0.7
	x, y := targets(2, n, d)
	s := gauss.Space{Family: gauss.MeanField, Features: d}
	l := newLinear(s, x, y, noise, 1)
	q := natural([]float64{1, 0, 2, -1}, []float64{1, 2, 3, 0.5})
	cavity := natural([]float64{0.1, 0.2, -0.4, 0}, []float64{1, 0.5, 2, 1})
	dst := make([]float64, s.Dim())
	l.Update(NewWorkspace(d, n), dst, q, cavity)
	floats.Add(dst, q)
	mean, variance := moments(dst)
	best := energy(x, y, noise, mean, variance, cavity)
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 { // the free energy is strictly concave: every other point is below
		m, v := append([]float64(nil), mean...), append([]float64(nil), variance...)
		for i := range d {
			m[i] += 0.01 * r.NormFloat64()
			v[i] *= math.Exp(0.01 * r.NormFloat64())
		}
		if e := energy(x, y, noise, m, v, cavity); e >= best {
			t.Fatalf("free energy %v beside the optimum's %v", e, best)
		}
	}
}

// TestSingleLinearRecord: a shard of one record has the update, the curvature and the score of a shard with
// a second one that is 0, for proper and improper cavities.
func TestSingleLinearRecord(t *testing.T) {
	const d, noise = 4, 0.7
	x, y := targets(4, 1, d)
	s := gauss.Space{Family: gauss.MeanField, Features: d}
	one := newLinear(s, x, y, noise, 0.25)
	two := newLinear(s, append(x, make([]float64, d)...), append(y, 0), noise, 0.25)
	if one.only == nil || two.only != nil {
		t.Fatal("the shards are not solved in two ways")
	}
	q := natural([]float64{1, 0, 2, -1}, []float64{1, 2, 3, 0.5})
	for _, cavity := range [][]float64{
		natural([]float64{0.1, 0.2, -0.4, 0}, []float64{1, 0.5, 2, 1}),
		{1, 1, 1, 1, 40, -0.5, -3, -1},
		{1, 1, 1, 1, 0.01, -0.5, -3, -1}, // the record makes it proper
	} {
		got, want := make([]float64, s.Dim()), make([]float64, s.Dim())
		one.Update(NewWorkspace(d, 2), got, q, cavity)
		two.Update(NewWorkspace(d, 2), want, q, cavity)
		if !floats.EqualApprox(got, want, 1e-12) {
			t.Errorf("update %v, want %v", got, want)
		}
	}
	got, want := make([]float64, d*(d+1)/2), make([]float64, d*(d+1)/2)
	one.Curvature(nil, got, 0, nil, nil)
	two.Curvature(nil, want, 0, nil, nil)
	if !floats.EqualApprox(got, want, 1e-12) {
		t.Errorf("curvature %v, want %v", got, want)
	}
}

func TestMeanFieldLinearWithImproperCavity(t *testing.T) {
	const d, n = 3, 2
	x, y := targets(3, n, d)
	s := gauss.Space{Family: gauss.MeanField, Features: d}
	l := newLinear(s, x, y, 1, 0.25)
	q := natural([]float64{1, 0, 2}, []float64{1, 2, 3})
	cavity := []float64{1, 1, 1, 40, -0.5, 1e9} // precisions -80, 1, -2e9
	lifted := []float64{1, 1, 1, -0.125, -0.5, -0.125}
	dst, want := make([]float64, s.Dim()), make([]float64, s.Dim())
	l.Update(NewWorkspace(d, n), dst, q, cavity)
	l.Update(NewWorkspace(d, n), want, q, lifted)
	if !floats.EqualApprox(dst[:d], want[:d], 1e-12) {
		t.Errorf("linear part %v, want that of the lifted cavity %v", dst[:d], want[:d])
	}
	for i := range d { // the precision part is never lifted
		if got, want := dst[d+i], cavity[d+i]-l.curvature(i, i)/2-q[d+i]; got != want {
			t.Errorf("precision part %d is %v, want %v", i, got, want)
		}
	}
}

func TestEmptyLinearShard(t *testing.T) {
	for _, f := range []gauss.Family{gauss.MeanField, gauss.Full} {
		s := gauss.Space{Family: f, Features: 3}
		l := newLinear(s, nil, nil, 1, 1)
		q, dst := make([]float64, s.Dim()), make([]float64, s.Dim())
		s.Prior(q, 2)
		l.Update(NewWorkspace(3, 0), dst, q, q)
		if l.Rows() != 0 || floats.Norm(dst, 2) > 1e-15 {
			t.Errorf("%s: an empty shard moved by %v", f, dst)
		}
	}
}
