package noiseaware

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// Trace is what R rounds revealed of d weights.
type Trace struct {
	Prior  float64     // precision of every weight, around 0
	Points [][]float64 // R x d: where the scores were computed
	Scores [][]float64 // R x d: the log-likelihood's gradient by the weights, with noise
	// Noise is the R x R covariance of the noise of the rounds in one coordinate. Only its
	// shape matters: it weighs the rounds.
	Noise *mat.SymDense
	// Sampling, if not nil, is the covariance of each round's sampling error, in curvatures.
	Sampling []float64
	// Variance returns the variance of the noise of the weighted sum of the scores in every
	// coordinate, for weights that add up to 1.
	Variance func(weights []float64) []float64
	// Spread, for a logistic model, is the R x d variances of the public Gaussians around the
	// points, over which scores are expectations, and CurvatureSpread that of the curvature;
	// the last weight is the bias, whose column is 1. nil for a linear model.
	Spread          [][]float64
	CurvatureSpread []float64
	// Curvature is the estimate of the likelihood's curvature, and what it knows of it.
	Curvature Curvature
}

// passes of the iteration over the error of the curvature; it converges after a few.
const passes = 8

// Posterior returns the posterior of the weights, with its full covariance.
func (t Trace) Posterior() (*gauss.Moments, error) {
	if len(t.Points) == 0 {
		return nil, fmt.Errorf("no rounds: %w", gauss.ErrImproper)
	}
	h, err := t.Curvature.repaired()
	if err != nil {
		return nil, err
	}
	t = t.sharp(h.matrix)
	weights, err := t.weights(h.matrix)
	if err != nil {
		return nil, err
	}
	d := len(t.Points[0])
	point := mean(t.Points, weights)
	score := mean(t.Scores, weights)
	variance := t.Variance(weights)
	sampling := 0.0
	for s, v := range t.Sampling {
		sampling += weights[s] * weights[s] * v
	}
	b := mat.NewVecDense(d, nil)
	b.MulVec(h.matrix, mat.NewVecDense(d, point))
	b.AddVec(b, mat.NewVecDense(d, score))
	var m *gauss.Moments
	moved := make([]float64, d)
	for range passes {
		if m, err = solve(h.matrix, b, h.error(variance, moved), t.Prior, 1+sampling); err != nil {
			return nil, err
		}
		floats.SubTo(moved, m.Mean, point)
	}
	return m, nil
}

// sharp converts expectations over Gaussians to values at points. A logistic function's
// expectation over an activation of variance v is about its value at the activation times
// 1/sqrt(1 + pi v/8) ([MacKay92]): the score is that at the point times this, and the curvature has
// it as a factor. A record's activation has about the variance sum_i v_i h_ii/h_bb, with the
// mean squares of the columns from the curvature. It scales h in place.
func (t Trace) sharp(h *mat.SymDense) Trace {
	d := h.SymmetricDim()
	bias := h.At(d-1, d-1)
	if t.Spread == nil || !(bias > 0) {
		return t
	}
	flatter := func(variance []float64) float64 {
		v := 0.0
		for i, x := range variance {
			v += x * h.At(i, i) / bias
		}
		return 1 / math.Sqrt(1+math.Pi*v/8)
	}
	points := make([][]float64, len(t.Points))
	for s, p := range t.Points {
		points[s] = make([]float64, d)
		floats.AddScaled(points[s], flatter(t.Spread[s]), p)
	}
	t.Points = points
	h.ScaleSym(1/flatter(t.CurvatureSpread), h)
	return t
}

// weights returns the rounds' weights of least variance. A score far from the last point is
// less reliable, since the curvature changes on the way: the mean square of the distance,
// in scores, adds to the round's variance.
func (t Trace) weights(h *mat.SymDense) ([]float64, error) {
	n := len(t.Points)
	last := t.Points[n-1]
	k := mat.NewSymDense(n, nil)
	k.CopySym(t.Noise)
	for s, point := range t.Points {
		far := 0.0
		for i, x := range point {
			step := h.At(i, i) * (x - last[i])
			far += step * step / float64(len(point))
		}
		if t.Sampling != nil {
			far += t.Sampling[s] * mat.Trace(h) / float64(len(point))
		}
		k.SetSym(s, s, k.At(s, s)+far)
	}
	out := make([]float64, n)
	floats.AddConst(1, out)
	var c mat.Cholesky
	if floats.Max(diagonal(k)) == 0 { // no noise, and no way to the last point
		floats.Scale(1/float64(n), out)
		return out, nil
	}
	for i := range n { // some rounds may have no noise
		k.SetSym(i, i, k.At(i, i)*(1+1e-9)+1e-300)
	}
	if !c.Factorize(k) {
		return nil, fmt.Errorf("weights of the rounds: %w", gauss.ErrImproper)
	}
	w := mat.NewVecDense(n, out)
	if err := c.SolveVecTo(w, w); failed(err) {
		return nil, fmt.Errorf("weights of the rounds: %w", err)
	}
	floats.Scale(1/floats.Sum(out), out)
	return out, nil
}

// solve returns the posterior of w for b ~ N(H w, own H + V) and w ~ N(0, I/prior).
func solve(h *mat.SymDense, b *mat.VecDense, variance []float64, prior, own float64) (*gauss.Moments, error) {
	d := len(variance)
	scatter := mat.NewSymDense(d, nil)
	scatter.ScaleSym(own, h)
	for i, v := range variance {
		scatter.SetSym(i, i, scatter.At(i, i)+v)
	}
	ridge := 1e-12*mat.Trace(scatter)/float64(d) + 1e-300 // both may be singular without noise
	for i := range d {
		scatter.SetSym(i, i, scatter.At(i, i)+ridge)
	}
	var c mat.Cholesky
	if !c.Factorize(scatter) {
		return nil, fmt.Errorf("scatter: %w", gauss.ErrImproper)
	}
	var weighted mat.Dense // (H+V)^-1 H
	if err := c.SolveTo(&weighted, h); failed(err) {
		return nil, fmt.Errorf("scatter: %w", err)
	}
	var information mat.Dense
	information.Mul(h, &weighted)
	precision := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			precision.SetSym(i, j, 0.5*(information.At(i, j)+information.At(j, i)))
		}
		precision.SetSym(i, i, precision.At(i, i)+prior)
	}
	if !c.Factorize(precision) {
		return nil, fmt.Errorf("posterior: %w", gauss.ErrImproper)
	}
	m := &gauss.Moments{Mean: make([]float64, d), Covariance: mat.NewSymDense(d, nil)}
	var right mat.VecDense
	right.MulVec(weighted.T(), b)
	if err := c.SolveVecTo(mat.NewVecDense(d, m.Mean), &right); failed(err) {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	if err := c.InverseTo(m.Covariance); failed(err) {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	m.Variance = diagonal(m.Covariance)
	return m, nil
}

// failed reports whether a factorisation has no usable result. A bad condition is a warning
// of gonum's; the numbers are finite.
func failed(err error) bool {
	_, warning := err.(mat.Condition)
	return err != nil && !warning
}

func mean(rows [][]float64, weights []float64) []float64 {
	out := make([]float64, len(rows[0]))
	for s, row := range rows {
		floats.AddScaled(out, weights[s], row)
	}
	return out
}

func diagonal(m *mat.SymDense) []float64 {
	out := make([]float64, m.SymmetricDim())
	for i := range out {
		out[i] = m.At(i, i)
	}
	return out
}
