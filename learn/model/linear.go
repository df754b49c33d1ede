package model

import (
	"slices"

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
	gram  []float64 // X'X/noise^2, d x d row-major, mean-field only; nil of a single record
	only  []float64 // of a single record in the mean-field family: x/noise
	floor float64
}

// newLinear returns a shard of len(y) rows over the space's d weights; x is row-major with
// len(y)*d numbers and is not kept. noise is the standard deviation of an observation,
// floor the least precision of a lifted cavity. The caller has checked the data.
func newLinear(space gauss.Space, x, y []float64, noise, floor float64) *Linear {
	d := space.Features
	l := &Linear{space: space, rows: len(y), like: make([]float64, space.Dim()), floor: floor}
	if space.Family == gauss.MeanField && len(y) == 1 {
		l.only = make([]float64, d)
		for i, v := range x {
			l.only[i] = v / noise
			l.like[i] = v * y[0] / (noise * noise)
			l.like[d+i] = -l.only[i] * l.only[i] / 2
		}
		return l
	}
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

// curvature is an entry of X'X/noise^2.
func (l *Linear) curvature(i, j int) float64 {
	if l.only != nil {
		return l.only[i] * l.only[j]
	}
	return l.gram[i*l.space.Features+j]
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
		dst[i] = mean[i]*(prec[i]+l.curvature(i, i)) - q[i]
	}
}

// solve finds the mean; false when the system is indefinite. A single record with a proper cavity has the
// inverse of a diagonal and a product of rank one ([SM50]), and all else Cholesky's factor.
func (l *Linear) solve(ws *Workspace, mean, prec, cavity []float64) bool {
	d := l.space.Features
	for i := range d {
		mean[i] = cavity[i] + l.like[i]
	}
	if l.only != nil && !slices.ContainsFunc(prec, func(p float64) bool { return !(p > 0) }) {
		along, length := 0.0, 0.0
		for i, u := range l.only {
			mean[i] /= prec[i]
			along += u * mean[i]
			length += u * u / prec[i]
		}
		for i, u := range l.only {
			mean[i] -= u / prec[i] * along / (1 + length)
		}
		return true
	}
	a := blas64.Symmetric{N: d, Stride: d, Data: ws.square(d), Uplo: blas.Upper}
	for i := range d {
		for j := i; j < d; j++ {
			a.Data[i*d+j] = l.curvature(i, j)
		}
		a.Data[i*d+i] += prec[i]
	}
	factor, ok := lapack64.Potrf(a)
	if ok {
		lapack64.Potrs(factor, blas64.General{Rows: d, Cols: 1, Stride: 1, Data: mean})
	}
	return ok
}
