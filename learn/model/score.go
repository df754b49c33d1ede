package model

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Scored is a Site that knows the score and the curvature of its log-likelihood at a point.
type Scored interface {
	Site
	// Score writes the log-likelihood's gradient by the weights at w, and the negative of its
	// second derivatives.
	Score(ws *Workspace, gradient []float64, curvature *mat.SymDense, w []float64)
}

// Score implements Scored.
func (l *Logistic) Score(ws *Workspace, gradient []float64, curvature *mat.SymDense, w []float64) {
	clear(gradient)
	curvature.Zero()
	n, d := len(l.y), l.x.Cols
	if n == 0 {
		return
	}
	residual := ws.row[0][:n]
	scaled := blas64.General{Rows: n, Cols: d, Stride: d, Data: make([]float64, n*d)}
	blas64.Gemv(blas.NoTrans, 1, l.x, vec(w), 0, vec(residual))
	for r, a := range residual {
		p, c := sigmoidMoments(a, 0)
		residual[r] = l.y[r] - p
		c = math.Sqrt(c)
		for j, x := range l.x.Data[r*d : (r+1)*d] {
			scaled.Data[r*d+j] = c * x
		}
	}
	blas64.Gemv(blas.Trans, 1, l.x, vec(residual), 0, vec(gradient))
	blas64.Syrk(blas.Trans, 1, scaled, 0, curvature.RawSymmetric())
}

// Score implements Scored. It needs the mean-field family.
func (l *Linear) Score(_ *Workspace, gradient []float64, curvature *mat.SymDense, w []float64) {
	d := l.space.Features
	for i := range d {
		for j := i; j < d; j++ {
			curvature.SetSym(i, j, l.curvature(i, j))
		}
	}
	pull := mat.NewVecDense(d, nil)
	pull.MulVec(curvature, mat.NewVecDense(d, w))
	for i := range d {
		gradient[i] = l.like[i] - pull.AtVec(i)
	}
}
