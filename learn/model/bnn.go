package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"choir/learn/gauss"
)

// neural is a shard under a Bayesian neural network for two classes: one hidden layer of
// rectified linear units, a sigmoid on the output, y in {0, 1}, and an independent Gaussian
// for every weight ([DP-PVI], section 5):
//
//	z_h = max(0, x.w_h),  f = z.u + b,  p(y = 1 | x, w) = sigma(f)
//
// The weights are ordered w_1 .. w_H (Features numbers each; the record's bias column gives
// the units' biases), u (H numbers), b.
//
// The expected log-likelihood is estimated by sampling the hidden units only. Given a
// record, the units' inputs are independent Gaussians, so they are sampled instead of the
// weights (the local reparameterisation of [KSW15]), with antithetic pairs; given the
// units, the output is Gaussian and its expectation is in closed form (sigmoidMoments).
//
// The samples are pseudo-random numbers that are a function of the variational parameters
// and of the record. So Update and RecordGradients are functions of their arguments, a
// record's gradient depends on no other record, and every step of an optimiser has new
// samples. Privacy does not depend on them: bounds are valid for every sample.
type neural struct {
	x, sq    blas64.General // the features, and their squares
	y        []float64
	seed     []uint64 // a digest of every record
	hidden   int
	samples  int
	steps    int
	rate     float64
	copies   float64 // how many times Update counts the data
	floor    float64 // natural gradients: see natural; 0: Adam
	features int
}

// Limits of a network.
const (
	maxHidden  = 1 << 12
	maxSamples = 1 << 12
	MaxSpread  = 16
)

// newNetwork makes a shard of len(y) rows over Settings.Features columns. x is
// row-major; it is kept, not copied. The caller has checked the data and the
// settings.
func newNetwork(s Settings, x, y []float64) *neural {
	n := &neural{y: y, hidden: s.Hidden, samples: s.Samples, steps: s.Steps, rate: s.LearningRate,
		copies: float64(max(s.Copies, 1)), features: s.Features}
	if s.Natural {
		n.floor = s.Floor
	}
	sq := make([]float64, len(x))
	for i, v := range x {
		sq[i] = v * v
	}
	general := func(data []float64) blas64.General {
		return blas64.General{Rows: len(y), Cols: s.Features, Stride: s.Features, Data: data}
	}
	n.x, n.sq = general(x), general(sq)
	n.seed = make([]uint64, len(y))
	for i := range y {
		n.seed[i] = digest(digest(0, x[i*s.Features:(i+1)*s.Features]), y[i:i+1])
	}
	return n
}

func networkKind() Kind {
	return Kind{
		Binary: true, Tempered: true, Natural: true, PerRecord: true,
		Check: func(s Settings, bad BadField) {
			checkMeanField("bnn", s, bad)
			checkOwn("bnn", s, bad)
			checkSteps(s, bad)
			if s.Hidden < 1 || s.Hidden > maxHidden {
				bad("hidden", s.Hidden, fmt.Sprintf("1 to %d", maxHidden))
			}
			if s.Samples < 1 || s.Samples > maxSamples {
				bad("samples", s.Samples, fmt.Sprintf("1 to %d", maxSamples))
			}
			if !(s.Spread >= 0 && s.Spread <= MaxSpread && s.Spread+s.StartSpread > 0) {
				bad("prior_spread", s.Spread, fmt.Sprintf(
					"in (0, %d], or 0 with a start_spread: units with equal starting points stay equal",
					MaxSpread))
			}
		},
		Weights:   func(s Settings) int { return s.Hidden*(s.Features+1) + 1 },
		Site:      func(s Settings, x, y []float64) Site { return newNetwork(s, x, y) },
		Predictor: func(s Settings, m *gauss.Moments) Predictor { return newNetworkPredictor(s, m) },
	}
}

// Rows is the number of records.
func (n *neural) Rows() int { return len(n.y) }

// Update implements Site: see ascend, and natural.
func (n *neural) Update(ws *Workspace, dst, q, cavity []float64) {
	if n.floor > 0 {
		n.natural(ws, dst, q, cavity)
		return
	}
	ascend(ws, dst, q, n.steps, n.rate, func(gMean, gLogSD, mean, variance []float64) {
		n.Gradient(ws, gMean, gLogSD, mean, variance, cavity)
	})
}

// Gradient writes an unbiased estimate of the derivatives of the free energy by the
// means and by the log standard deviations of q'.
func (n *neural) Gradient(ws *Workspace, gMean, gLogSD, mean, variance, cavity []float64) {
	n.gradient(ws, gMean, gLogSD, mean, variance, digest(digest(0, mean), variance))
	if n.copies > 1 {
		blas64.Scal(n.copies, vec(gMean))
		blas64.Scal(n.copies, vec(gLogSD))
	}
	pull(gMean, gLogSD, mean, variance, cavity)
}

// gradient is the derivative of the expected log-likelihood for the samples that
// seed gives.
func (n *neural) gradient(ws *Workspace, gMean, gLogSD, mean, variance []float64, seed uint64) {
	clear(gMean)
	clear(gLogSD)
	rows, h := len(n.y), n.hidden
	if rows == 0 {
		return
	}
	a, s := n.inputs(ws, mean, variance)
	p := n.newPass(ws, mean, variance)
	inner := h * n.features
	for i := range n.y {
		p.row(a.Data[i*h:(i+1)*h], s.Data[i*h:(i+1)*h], gMean[inner:], gLogSD[inner:], n.y[i], seed^n.seed[i])
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, a, n.x, 0, n.layer(gMean))
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, s, n.sq, 0, n.layer(gLogSD))
	for i, v := range variance[:inner] {
		gLogSD[i] *= v
	}
}

// inputs writes the means and the variances of the units' inputs, a row a record.
func (n *neural) inputs(ws *Workspace, mean, variance []float64) (a, s blas64.General) {
	rows, h := len(n.y), n.hidden
	buf := ws.matrices(2 * rows * h)
	a = blas64.General{Rows: rows, Cols: h, Stride: h, Data: buf[:rows*h]}
	s = blas64.General{Rows: rows, Cols: h, Stride: h, Data: buf[rows*h:]}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, n.x, n.layer(mean), 0, a)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, n.sq, n.layer(variance), 0, s)
	return a, s
}

// layer is the hidden layer's part of a vector over the weights.
func (n *neural) layer(w []float64) blas64.General {
	return blas64.General{Rows: n.hidden, Cols: n.features, Stride: n.features, Data: w[:n.hidden*n.features]}
}

// RecordGradients implements PerRecord. A record's samples depend on the
// variational parameters and on the record.
func (n *neural) RecordGradients(ws *Workspace, mean, logSD []float64, rows []int,
	f func(row int, grad []float64) error) error {
	d := len(mean)
	h := n.hidden
	cols := n.features
	variance, grad := ws.param[2], ws.pair(d)[:2*d]
	for i, s := range logSD {
		variance[i] = math.Exp(2 * s)
	}
	seed, p := digest(digest(0, mean), variance), n.newPass(ws, mean, variance)
	inner, buf := h*cols, ws.matrices(2*h)
	a, s := buf[:h], buf[h:2*h]
	for _, r := range rows {
		x, sq := n.x.Data[r*cols:(r+1)*cols], n.sq.Data[r*cols:(r+1)*cols]
		blas64.Gemv(blas.NoTrans, 1, n.layer(mean), vec(x), 0, vec(a))
		blas64.Gemv(blas.NoTrans, 1, n.layer(variance), vec(sq), 0, vec(s))
		clear(grad)
		p.row(a, s, grad[inner:d], grad[d+inner:], n.y[r], seed^n.seed[r])
		n.spread(grad, a, s, x, sq, variance)
		if err := f(r, grad); err != nil {
			return err
		}
	}
	return nil
}

// spread writes a record's derivatives by the hidden layer: products of those by the
// units' inputs and of the features. Features that are 0, as most of one-hot columns
// are, and units that are off stay 0.
func (n *neural) spread(grad, a, s, x, sq, variance []float64) {
	d, cols := len(variance), n.features
	for j, xj := range x {
		if xj == 0 {
			continue
		}
		for u, au := range a {
			at := u*cols + j
			grad[at] = au * xj
			grad[d+at] = s[u] * sq[j] * variance[at]
		}
	}
}
