package mcmc

import "math"

// probit is the variance of the normal distribution function that is about the logistic one ([MacKay92]).
const probit = 8 / math.Pi

// arced is how gradients of normal records depend on the weights w, in the coordinates phi: by Stein's
// identity that of the likelihood is start - f(w) full w, with f(w) the mean slope of the logistic function
// over that where the curvature was measured. Along long logits curvature is a small part of f full, which
// steps of Newton's method by a noisy matrix can't tell from 0.
type arced struct {
	logits float64   // by unit of distance from 0 in phi
	full   []float64 // by rows; positive definite
	prior  []float64 // the prior's precision, by rows
	slope  float64   // where the curvature was measured
}

// arced returns the law by the measured curvature, which counts in part, with its mean for the rest.
func (t trace) arced(g *geometry, s *state) arced {
	d := t.cfg.Features
	at := g.factor.mulT(reals(s.bent))
	full, noise := t.curvature(g, s)
	variance := float64(noise * noise)
	spread := float64(float64(g.logits()*g.logits()) * dot(at, at))
	lacks := spread / (probit + spread) // along the point, of the curvature across it
	size, sum := float64(d)-lacks, 0.0
	for i := range d {
		sum += full[i*d+i]
	}
	mean, _ := meanCurvature(sum, size, d, variance)
	part := doubt / (doubt + variance)
	scale(full, part)
	for i := range d {
		full[i*d+i] += float64((1 - part) * mean)
	}
	if square := dot(at, at); square > 0 {
		for i := range d {
			add(full[i*d:(i+1)*d], float64(part*mean*lacks)*at[i]/square, at)
		}
	}
	full, _ = ridged(full, d, mean/4, float64(part*noise)/8)
	return arced{g.logits(), full, t.precision(g, t.cfg.PriorPrecision), steepness(g.logits(), at)}
}

// Before it is measured a curvature in phi has the mean guess on its diagonal, with the variance doubt.
const guess, doubt = 0.4, 0.25 * 0.25

// meanCurvature is what a noisy curvature of d columns tells of the mean of its diagonal, with a trace as of
// size columns, and the share that the measurement has in it. variance is that of an entry's noise.
func meanCurvature(trace, size float64, d int, variance float64) (mean, share float64) {
	share = doubt / (doubt + float64(variance*float64(d))/float64(size*size))
	return min(0.8, max(0.05, guess+float64(share*(trace/size-guess)))), share
}

// steepness is about the mean slope of the logistic function at weights, over a constant.
func steepness(logits float64, w []float64) float64 {
	return 1 / math.Sqrt(probit+float64(float64(logits*logits)*dot(w, w)))
}

// precision is in phi, by rows, that of a prior with this precision of all slopes.
func (t trace) precision(g *geometry, slopes float64) []float64 {
	d := t.cfg.Features
	out := make([]float64, d*d)
	for i := range d {
		row := out[i*d : (i+1)*d]
		row[i] = 1
		g.factor.solveT(row)
		scale(row[:d-1], slopes)
		row[d-1] *= t.cfg.PriorPrecision
		g.factor.solve(row)
	}
	return out
}

// bisections find a relative slope to a thousandth.
const bisections = 12

// step is the way from weights, where the posterior's gradient is this, to the mode. It is that of a prior of
// precision hold around the weights, too.
func (a arced) step(weights, gradient []float64, hold float64) []float64 {
	from := steepness(a.logits, weights) / a.slope
	low, high := from/4, 4*from
	var step []float64
	for range bisections {
		f := math.Sqrt(low * high)
		step = a.at(f, from, weights, gradient, hold)
		to := append([]float64(nil), weights...)
		add(to, 1, step)
		if steepness(a.logits, to)/a.slope > f {
			low = f
		} else {
			high = f
		}
	}
	return step
}

// at is the step if the slope there is f, and from at the weights.
func (a arced) at(f, from float64, weights, gradient []float64, hold float64) []float64 {
	d := len(weights)
	m := append([]float64(nil), a.prior...)
	step := append([]float64(nil), gradient...)
	for i := range d {
		row := a.full[i*d : (i+1)*d]
		step[i] += float64((from - f) * dot(row, weights))
		add(m[i*d:(i+1)*d], f, row)
		m[i*d+i] += hold
	}
	c := firm(m, d, 0, 0)
	c.solve(step)
	c.solveT(step)
	return step
}
