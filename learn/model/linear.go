package model

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"choir/learn/gauss"
)

// Linear is a shard under Bayesian linear regression with known noise: p(y | x, w) = N(y;
// x.w, noise^2). Only its sufficient statistics are kept.
//
// In the full family the model is conjugate and the optimum is cavity plus likelihood
// ([Thesis], equations 4.9 and 4.10); nothing is inverted, so an improper cavity makes no
// difference. In the mean-field family the optimum is the best independent Gaussian:
// precision P_c + diag(X'X)/noise^2, and the mean that solves (P_c + X'X/noise^2) mean =
// h_c + X'y/noise^2. When an improper cavity makes that system indefinite there is no
// optimum; the cavity's precisions are then lifted to floor for this solution, a choice
// that depends on public numbers and the shard's own data only.
type Linear struct {
	space gauss.Space
	rows  int
	like  []float64 // the likelihood's natural parameters, full family: all of them
	gram  []float64 // X'X/noise^2, d x d row-major, mean-field only
	floor float64
}

// newLinear returns a shard of len(y) rows over the space's d weights; x is row-major with
// len(y)*d numbers and is not kept. noise is the standard deviation of an observation,
// floor the least precision of a lifted cavity. The caller has checked the data.
func newLinear(space gauss.Space, x, y []float64, noise, floor float64) *Linear {
	d := space.Features
	l := &Linear{space: space, rows: len(y), like: make([]float64, space.Dim()), floor: floor}
	gram := make([]float64, d*d)
	if len(y) > 0 {
		xm := blas64.General{Rows: len(y), Cols: d, Stride: d, Data: x}
		w := 1 / (noise * noise)
		sym := blas64.Symmetric{N: d, Stride: d, Data: gram, Uplo: blas.Upper}
		blas64.Syrk(blas.Trans, w, xm, 0, sym)
		blas64.Gemv(blas.Trans, w, xm, vec(y), 0, vec(l.like[:d]))
	}
	for i := range d {
		l.like[space.Index(i, i)] = -gram[i*d+i] / 2
		for j := i + 1; j < d && space.Family == gauss.Full; j++ {
			l.like[space.Index(i, j)] = -gram[i*d+j]
		}
	}
	if space.Family == gauss.MeanField {
		l.gram = gram
	}
	return l
}

// Rows is the number of records.
func (l *Linear) Rows() int { return l.rows }

// Update implements Site.
func (l *Linear) Update(ws *Workspace, dst, q, cavity []float64) {
	for i := range dst {
		dst[i] = cavity[i] + l.like[i] - q[i]
	}
	if l.space.Family == gauss.Full {
		return
	}
	d := l.space.Features
	prec, mean := ws.param[0], ws.param[1]
	for i := range d {
		prec[i] = -2 * cavity[d+i]
	}
	if !l.solve(ws, mean, prec, cavity) {
		for i := range prec {
			prec[i] = max(prec[i], l.floor)
		}
		if !l.solve(ws, mean, prec, cavity) {
			// Positive definite, but not to working precision: keep q's mean.
			for i := range mean {
				mean[i] = q[i] / (-2 * q[d+i])
			}
		}
	}
	for i := range d {
		dst[i] = mean[i]*(prec[i]+l.gram[i*d+i]) - q[i]
	}
}

// solve finds the mean by Cholesky; false when the system is indefinite.
func (l *Linear) solve(ws *Workspace, mean, prec, cavity []float64) bool {
	d := l.space.Features
	a := blas64.Symmetric{N: d, Stride: d, Data: ws.square(d), Uplo: blas.Upper}
	copy(a.Data, l.gram)
	for i := range d {
		a.Data[i*d+i] += prec[i]
		mean[i] = cavity[i] + l.like[i]
	}
	factor, ok := lapack64.Potrf(a)
	if ok {
		lapack64.Potrs(factor, blas64.General{Rows: d, Cols: 1, Stride: 1, Data: mean})
	}
	return ok
}
