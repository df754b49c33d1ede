package model

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// natural takes natural-gradient steps on the local free energy: see climb. The curvature is
// Gauss and Newton's (Khan et al. 2018, "Fast and scalable Bayesian deep learning by
// weight-perturbation in Adam", section 3.2, there too by squares of the output's
// derivatives): that of the likelihood by the output, times the square of the output's
// derivative by the weight. It is never negative and has the noise of few samples in
// it, where differences of the gradient would mostly be noise. So means end where Gradient's
// do, and precisions are approximate: what the output's own curvature would add is left out.
//
// Samples are a function of the iterate and of the record, as everywhere in neural.
func (n *neural) natural(ws *Workspace, dst, q, cavity []float64) {
	climb{steps: n.steps, rate: n.rate, floor: n.floor}.run(ws, dst, q, cavity,
		func(gMean, gVar, mean, variance []float64) {
			n.newton(ws, gMean, gVar, mean, variance, digest(digest(0, mean), variance))
		})
}

// newton writes the derivatives of the expected log-likelihood by the means, and the negative
// of Gauss and Newton's curvature, for the samples that seed gives.
func (n *neural) newton(ws *Workspace, gMean, gVar, mean, variance []float64, seed uint64) {
	clear(gMean)
	clear(gVar)
	h, inner := n.hidden, n.hidden*n.features
	if len(n.y) == 0 {
		return
	}
	a, s := n.inputs(ws, mean, variance)
	p := n.newPass(ws, mean, variance)
	for i := range n.y {
		p.newton(a.Data[i*h:(i+1)*h], s.Data[i*h:(i+1)*h], gMean[inner:], gVar[inner:], n.y[i],
			seed^n.seed[i])
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, a, n.x, 0, n.layer(gMean))
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, s, n.sq, 0, n.layer(gVar))
	if n.copies != 1 {
		blas64.Scal(n.copies, vec(gMean))
		blas64.Scal(n.copies, vec(gVar))
	}
}

// newton is row with curvatures instead of derivatives by log standard deviations: a
// becomes the derivatives by the means of the units' inputs and s the negative curvatures
// by them, and those of the output layer are added to gMean and gVar. With one sample's z
// the output is z.u + b, so that its derivative by u_h is z_h and by the input of an active
// unit u_h, whose square has the expectation mean^2 + variance.
func (p *pass) newton(a, s, gMean, gVar []float64, y float64, seed uint64) {
	h := p.hidden
	for r, c := range p.outputs(a, s, y, seed) {
		for i, z := range p.z {
			if z <= 0 {
				continue
			}
			m := p.mean[i]
			p.da[i] += r*m + c*z*p.variance[i]
			p.ds[i] += c * (m*m + p.variance[i])
			gMean[i] += r * z
			gVar[i] += c * z * z
		}
		gMean[h] += r
		gVar[h] += c
	}
	copy(a, p.da)
	copy(s, p.ds)
}
