package model

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Logistic is a shard under Bayesian logistic regression in the mean-field family:
// p(y | x, w) = sigma(x.w)^y (1 - sigma(x.w))^(1-y), y in {0, 1}.
//
// Update starts at q and takes a fixed number of Adam steps in (mean, log sd), or of
// natural-gradient steps, with the expected log-likelihood and its derivatives in
// closed form (sigmoidMoments).
type Logistic struct {
	x, sq  blas64.General // the features, and their squares
	y      []float64
	steps  int
	rate   float64
	copies float64 // how many times Update counts the data
	floor  float64 // natural gradients: see natural; 0: Adam
}

// NewLogistic makes a shard of len(y) rows over d weights. x is row-major, with
// len(y)*d numbers; it is kept, not copied. The caller has checked the data.
func NewLogistic(d int, x, y []float64, steps int, rate float64) *Logistic {
	sq := make([]float64, len(x))
	for i, v := range x {
		sq[i] = v * v
	}
	general := func(data []float64) blas64.General {
		return blas64.General{Rows: len(y), Cols: d, Stride: d, Data: data}
	}
	return &Logistic{x: general(x), sq: general(sq), y: y, steps: steps, rate: rate, copies: 1}
}

// Rows is the number of records.
func (l *Logistic) Rows() int { return len(l.y) }

// Update implements Site.
func (l *Logistic) Update(ws *Workspace, dst, q, cavity []float64) {
	if l.floor > 0 {
		l.natural(ws, dst, q, cavity)
		return
	}
	ascend(ws, dst, q, l.steps, l.rate, func(gMean, gLogSD, mean, variance []float64) {
		l.Gradient(ws, gMean, gLogSD, mean, variance, cavity)
	})
}

// Gradient writes the derivatives of the free energy by the means and by the log
// standard deviations of q'. With a = x.mean and s = sum x_i^2 variance_i:
//
//	d/dmean  = sum_rows x (y - E sigma)       + h_c - P_c mean
//	d/dlogsd = (-sum_rows x^2 E sigma' - P_c) variance + 1
//
// where h_c, P_c are the cavity's; the 1 is the entropy's.
func (l *Logistic) Gradient(ws *Workspace, gMean, gLogSD, mean, variance, cavity []float64) {
	d := l.x.Cols
	l.likelihood(ws, gMean, gLogSD, mean, variance)
	for i, v := range variance[:d] {
		gLogSD[i] *= v
	}
	pull(gMean[:d], gLogSD[:d], mean[:d], variance[:d], cavity)
}

// Energy is the local free energy up to a constant that depends on the cavity only:
// the expected log-likelihood, plus the entropy, plus the expected log cavity.
// Gradient is its derivative.
func (l *Logistic) Energy(ws *Workspace, mean, variance, cavity []float64) float64 {
	d, n := l.x.Cols, len(l.y)
	a, s := ws.row[0][:n], ws.row[1][:n]
	l.activations(a, s, mean, variance)
	var e float64
	for i := range a {
		e += l.copies * (l.y[i]*a[i] - expectSoftplus(a[i], s[i]))
	}
	for i := range d {
		e += 0.5*math.Log(variance[i]) + cavity[i]*mean[i] + cavity[d+i]*(mean[i]*mean[i]+variance[i])
	}
	return e
}

// activations writes the mean and the variance of x.w for every row.
func (l *Logistic) activations(a, s, mean, variance []float64) {
	if len(l.y) == 0 {
		return
	}
	blas64.Gemv(blas.NoTrans, 1, l.x, vec(mean), 0, vec(a))
	blas64.Gemv(blas.NoTrans, 1, l.sq, vec(variance), 0, vec(s))
}

func vec(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
