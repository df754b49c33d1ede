package model

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// maxLogSD is how far the optimiser may take a log standard deviation from where it
// began. Under an improper cavity the free energy has no maximum; the bound keeps
// every number finite for any number of steps and is out of reach in a sane
// configuration.
const maxLogSD = 16

// Logistic is a shard under Bayesian logistic regression in the mean-field family:
// p(y | x, w) = sigma(x.w)^y (1 - sigma(x.w))^(1-y), y in {0, 1}.
//
// Update starts at q and takes a fixed number of Adam steps in (mean, log sd), with
// the expected log-likelihood and its derivatives in closed form (SigmoidMoments).
// A fixed number of steps is the published scheme (Paper IV's code): Steps and the
// rate are part of the model. The log sd keeps every iterate proper whatever the
// cavity is; an improper cavity only makes the pull of its coordinate point
// outwards, for the bounded way that the steps can go.
type Logistic struct {
	x, sq blas64.General // the features, and their squares
	y     []float64
	steps int
	rate  float64
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
	return &Logistic{x: general(x), sq: general(sq), y: y, steps: steps, rate: rate}
}

// Rows is the number of records.
func (l *Logistic) Rows() int { return len(l.y) }

// Update implements Site.
func (l *Logistic) Update(ws *Workspace, dst, q, cavity []float64) {
	d := l.x.Cols
	mean, logSD, variance := ws.param[0], ws.param[1], ws.param[2]
	gMean, gLogSD, start := ws.param[3], ws.param[4], ws.param[5]
	// dst has room for Adam's 2d second moments until the result is written.
	opt := newAdam(ws.pair(d), dst, l.rate)
	for i := range d {
		variance[i] = -0.5 / q[d+i]
		mean[i], logSD[i] = q[i]*variance[i], 0.5*math.Log(variance[i])
	}
	copy(start, logSD)
	for range l.steps {
		l.Gradient(ws, gMean, gLogSD, mean, variance, cavity)
		opt.next()
		opt.climb(mean, gMean, 0)
		opt.climb(logSD, gLogSD, d)
		for i := range d {
			logSD[i] = min(max(logSD[i], start[i]-maxLogSD), start[i]+maxLogSD)
			variance[i] = math.Exp(2 * logSD[i])
		}
	}
	for i := range d {
		dst[i] = mean[i]/variance[i] - q[i]
		dst[d+i] = -0.5/variance[i] - q[d+i]
	}
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
	clear(gMean)
	clear(gLogSD)
	if n := len(l.y); n > 0 {
		residual, curve := ws.row[0][:n], ws.row[1][:n]
		l.activations(residual, curve, mean, variance)
		for i := range residual {
			p, c := SigmoidMoments(residual[i], curve[i])
			residual[i], curve[i] = l.y[i]-p, -c
		}
		blas64.Gemv(blas.Trans, 1, l.x, vec(residual), 0, vec(gMean))
		blas64.Gemv(blas.Trans, 1, l.sq, vec(curve), 0, vec(gLogSD))
	}
	for i := range d {
		p := -2 * cavity[d+i]
		gMean[i] += cavity[i] - p*mean[i]
		gLogSD[i] = (gLogSD[i]-p)*variance[i] + 1
	}
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
		e += l.y[i]*a[i] - ExpectSoftplus(a[i], s[i])
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
