package model

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"choir/learn/gauss"
)

// predictiveSamples is the number of samples of the hidden units in a prediction, the
// number of samples of all weights in [DP-PVI].
const predictiveSamples = 100

// networkPredictor averages over samples of the hidden units, with the output layer
// in closed form. The samples come from one fixed stream, the same for every
// record, so predictions are reproducible and vary smoothly with the record.
type networkPredictor struct {
	n   *neural
	m   *gauss.Moments
	eps []float64 // the samples, one after the other
}

func newNetworkPredictor(s Settings, m *gauss.Moments) networkPredictor {
	s.Samples = predictiveSamples
	p, from := networkPredictor{n: newNetwork(s, nil, nil), m: m}, normals{}
	sample := make([]float64, s.Hidden)
	for k := range s.Samples {
		from.antithetic(sample, k)
		p.eps = append(p.eps, sample...)
	}
	return p
}

// outputs calls f with the mean and the variance of the output under every sample.
func (p networkPredictor) outputs(x []float64, f func(mu, v float64)) {
	h := p.n.hidden
	buf := make([]float64, 2*h+len(x))
	a := buf[:h]
	s := buf[h : 2*h]
	sq := buf[2*h:]
	for i, v := range x {
		sq[i] = v * v
	}
	blas64.Gemv(blas.NoTrans, 1, p.n.layer(p.m.Mean), vec(x), 0, vec(a))
	blas64.Gemv(blas.NoTrans, 1, p.n.layer(p.m.Variance), vec(sq), 0, vec(s))
	pass := p.n.newPass(new(Workspace), p.m.Mean, p.m.Variance)
	for i, v := range s {
		pass.sd[i] = math.Sqrt(v)
	}
	for k := range p.n.samples {
		pass.eps = p.eps[k*h : (k+1)*h]
		f(pass.forward(a))
	}
}

// Predict implements Predictor.
func (p networkPredictor) Predict(x []float64) Prediction {
	var mean, square float64
	scale := 1 / float64(p.n.samples)
	p.outputs(x, func(mu, v float64) {
		m, slope := sigmoidMoments(mu, v)
		mean += scale * m
		square += scale * (m - slope) // sigma^2 = sigma - sigma'
	})
	mean = min(max(mean, 0), 1)
	return Prediction{Mean: mean, SD: math.Sqrt(mean * (1 - mean)),
		MeanSD: math.Sqrt(max(0, square-mean*mean))}
}

// Score implements Predictor. A probability so small that sigmoidMoments' absolute
// error would matter is computed by logExpectSigmoid instead.
func (p networkPredictor) Score(x []float64, y float64) (mean, logDensity float64) {
	sign := 2*y - 1
	top, sum := math.Inf(-1), 0.0
	p.outputs(x, func(mu, v float64) {
		m, _ := sigmoidMoments(sign*mu, v)
		l := math.Log(m)
		if m < 1e-4 {
			l = logExpectSigmoid(sign*mu, v)
		}
		if l > top {
			top, sum = l, sum*math.Exp(top-l)
		}
		sum += math.Exp(l - top)
	})
	logDensity = min(0, top+math.Log(sum/float64(p.n.samples)))
	if y == 0 {
		return 1 - math.Exp(logDensity), logDensity
	}
	return math.Exp(logDensity), logDensity
}
