package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/internal/ellipse"
)

// distant is the density of the weights w by the law of the curvature's error E, whose entries are
// normal. With u the way from the rounds' points to w, E u has the covariance e (|u|^2 I + uu'): the
// variance of the scores grows with the distance, and so the density has longer tails than a normal one.
type distant struct {
	line  relation
	prior []float64 // precisions
	noise []float64 // variances of the scores' noise
	error float64   // e
	lift  float64   // of the intercept, for the bend

	lifted, way, residual, solved *mat.VecDense
	scatter                       *mat.SymDense
	root                          mat.Cholesky
}

func newDistant(t Trace, line relation, by revealed) *distant {
	d := len(line.point)
	vector := func() *mat.VecDense { return mat.NewVecDense(d, nil) }
	return &distant{line: line, prior: by.prior, noise: t.Variance(by.weights), error: by.curvature.noise,
		lift: by.lift, lifted: vector(), way: vector(), residual: vector(), solved: vector(),
		scatter: mat.NewSymDense(d, nil)}
}

// log is the logarithm of the density, up to a constant.
func (d *distant) log(w *mat.VecDense) float64 {
	n := w.Len()
	d.lifted.CopyVec(w)
	d.lifted.SetVec(n-1, w.AtVec(n-1)+d.lift)
	f := d.line.bend.truth(d.lifted.RawVector().Data, nil)
	for i, m := range d.line.point {
		d.way.SetVec(i, f*w.AtVec(i)-m)
	}
	d.scatter.ScaleSym(f, d.line.scatter)
	d.scatter.SymRankOne(d.scatter, d.error, d.way)
	length := mat.Dot(d.way, d.way)
	for i, v := range d.noise {
		d.scatter.SetSym(i, i, d.scatter.At(i, i)+v+d.error*length)
	}
	ridge(d.scatter)
	d.residual.MulVec(d.line.bend.pull, w)
	d.residual.AddScaledVec(d.line.start, -f, d.residual)
	if !d.root.Factorize(d.scatter) || failed(d.root.SolveVecTo(d.solved, d.residual)) {
		return math.Inf(-1)
	}
	square := d.root.LogDet() + mat.Dot(d.residual, d.solved)
	for i, p := range d.prior {
		square += p * w.AtVec(i) * w.AtVec(i)
	}
	return -square / 2
}

// Draws of a chain that starts where a normal law is. They are fewer for many weights.
const (
	settling = 50
	distants = 800
	costly   = 40
)

// momentsOf are those of a density, near those of the normal law m. log is its logarithm, up to a constant.
func momentsOf(log func(w *mat.VecDense) float64, m *gauss.Moments) (*gauss.Moments, error) {
	n := len(m.Mean)
	shape := mat.NewSymDense(n, nil)
	shape.ScaleSym(ellipse.Wider, m.Covariance)
	var c mat.Cholesky
	if !c.Factorize(shape) {
		return nil, gauss.ErrImproper
	}
	var root mat.TriDense
	c.LTo(&root)
	w, centre := mat.NewVecDense(n, nil), mat.NewVecDense(n, m.Mean)
	walk := ellipse.New(make([]float64, n), func(x []float64) float64 {
		w.MulVec(&root, mat.NewVecDense(n, x))
		w.AddVec(w, centre)
		return log(w) + floats.Dot(x, x)/2
	})
	for range settling {
		walk.Step()
	}
	count := distants
	if n > costly {
		count = distants * costly / n
	}
	mean, square := mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	for range count {
		walk.Step()
		w.MulVec(&root, mat.NewVecDense(n, walk.X))
		mean.AddScaledVec(mean, 1/float64(count), w)
		square.SymRankOne(square, 1/float64(count), w)
	}
	square.SymRankOne(square, -1, mean)
	mean.AddVec(mean, centre)
	return &gauss.Moments{Mean: mean.RawVector().Data, Covariance: square, Variance: diagonal(square)}, nil
}
