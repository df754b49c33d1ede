package model

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// natural takes natural-gradient steps on the local free energy (Khan and Lin 2017,
// "Conjugate-computation variational inference", equation 13). In natural parameters
// that gradient is
//
//	cavity + f - q'   with   f = (sum x (y - E sigma) + sum x^2 E sigma' mean, -1/2 sum x^2 E sigma')
//
// where f, at q', is the factor that a Gaussian model would have in the likelihood's
// place. A step goes rate of the way, and the fixed point is Gradient's. A single step
// of rate 1 leaves cavity + f - q, that is f less the factor that is taken out: one
// pass over the data, no dependence on the noise in q but through f, and no pull where
// the shard has nothing to say. Shards of few records are learnt best that way.
//
// The moments of an iterate whose precision is below the floor, which only an
// improper cavity leads to, are taken at the floor.
func (l *Logistic) natural(ws *Workspace, dst, q, cavity []float64) {
	d := l.x.Cols
	mean, variance, gMean, gVar := ws.param[0], ws.param[1], ws.param[2], ws.param[3]
	clear(dst)
	for range l.steps {
		for i := range d {
			variance[i] = 1 / max(-2*(q[d+i]+dst[d+i]), l.floor)
			mean[i] = (q[i] + dst[i]) * variance[i]
		}
		l.likelihood(ws, gMean, gVar, mean, variance)
		for i := range d {
			dst[i] += l.rate * (cavity[i] + gMean[i] - gVar[i]*mean[i] - q[i] - dst[i])
			dst[d+i] += l.rate * (cavity[d+i] + gVar[i]/2 - q[d+i] - dst[d+i])
		}
	}
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
		p, c := SigmoidMoments(residual[i], curve[i])
		residual[i], curve[i] = l.y[i]-p, -c
	}
	blas64.Gemv(blas.Trans, l.copies, l.x, vec(residual), 0, vec(gMean))
	blas64.Gemv(blas.Trans, l.copies, l.sq, vec(curve), 0, vec(gVar))
}
