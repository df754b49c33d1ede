package model

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// natural takes natural-gradient steps on the local free energy: see climb. Its factor is
// in closed form.
func (l *Logistic) natural(ws *Workspace, dst, q, cavity []float64) {
	climb{steps: l.steps, rate: l.rate, floor: l.floor}.run(ws, dst, q, cavity,
		func(gMean, gVar, mean, variance []float64) {
			l.likelihood(ws, gMean, gVar, mean, variance)
		})
}

// likelihood writes the derivatives of the expected log-likelihood by the means, and
// twice those by the variances.
func (l *Logistic) likelihood(ws *Workspace, gMean, gVar, mean, variance []float64) {
	clear(gMean)
	clear(gVar)
	n := len(l.y)
	if n == 0 {
		return
	}
	residual, curve := ws.row[0][:n], ws.row[1][:n]
	l.activations(residual, curve, mean, variance)
	for i := range residual {
		p, c := sigmoidMoments(residual[i], curve[i])
		residual[i], curve[i] = l.y[i]-p, -c
	}
	blas64.Gemv(blas.Trans, l.copies, l.x, vec(residual), 0, vec(gMean))
	blas64.Gemv(blas.Trans, l.copies, l.sq, vec(curve), 0, vec(gVar))
}
