package model

import "math"

// maxLogSD is how far the optimiser may take a log standard deviation from where it
// began. Under an improper cavity the free energy has no maximum; the bound keeps
// every number finite for any number of steps and is out of reach in a sane
// configuration.
const maxLogSD = 16

// ascend takes a fixed number of Adam steps in (mean, log sd) from q and writes the change
// of natural parameters to dst. gradient writes the derivatives of the local free energy. A
// fixed number of steps is the published scheme (the code of [DP-PVI]): steps and rate are
// part of the model. With log sds every iterate is proper under every cavity; an improper
// cavity only makes the gradient of its coordinate point outwards, for the bounded distance
// of the steps.
func ascend(ws *Workspace, dst, q []float64, steps int, rate float64,
	gradient func(gMean, gLogSD, mean, variance []float64)) {
	d := len(q) / 2
	mean := ws.param[0]
	logSD := ws.param[1]
	variance := ws.param[2]
	gMean := ws.param[3]
	gLogSD := ws.param[4]
	start := ws.param[5]
	// dst stores Adam's 2d second moments until the result is written.
	opt := newAdam(ws.pair(d), dst, rate)
	for i := range d {
		variance[i] = -0.5 / q[d+i]
		mean[i], logSD[i] = q[i]*variance[i], 0.5*math.Log(variance[i])
	}
	copy(start, logSD)
	for range steps {
		if ws.Stop != nil && ws.Stop() {
			return
		}
		gradient(gMean, gLogSD, mean, variance)
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

// pull turns a gradient of the expected log-likelihood by the means and by the
// variances' log standard deviations into one of the free energy: with h_c and P_c
// the cavity's,
//
//	d/dmean  += h_c - P_c mean
//	d/dlogsd += 1 - P_c variance
//
// where the 1 is the entropy's.
func pull(gMean, gLogSD, mean, variance, cavity []float64) {
	d := len(mean)
	for i := range d {
		p := -2 * cavity[d+i]
		gMean[i] += cavity[i] - p*mean[i]
		gLogSD[i] += 1 - p*variance[i]
	}
}
