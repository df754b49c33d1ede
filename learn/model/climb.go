package model

// climb is natural-gradient steps on the local free energy ([KL17], equation 13), in the
// mean-field family. In natural parameters that gradient is
//
//	cavity + f - q'   with   f = (g - v mean, v/2)
//
// where g is the derivative of the expected log-likelihood by the means and v twice the one
// by the variances, a negative curvature: for the logistic model g = sum x (y - E sigma)
// and v = -sum x^2 E sigma'. f, at q', is the factor of a Gaussian model instead of the
// likelihood. A step moves by rate of the distance, and the fixed point is that of
// Gradient. A single step of rate 1 gives cavity + f - q, that is f minus the factor that
// is removed: one pass over the data, no dependence on the noise in q except through f, and
// no change where the shard has no information. This is the best update for shards of few
// records.
//
// The moments of an iterate whose precision is below the floor, which only an improper
// cavity leads to, are computed at the floor.
type climb struct {
	steps int
	rate  float64
	floor float64 // above 0
}

// run writes the optimum minus q to dst. likelihood writes g and v.
func (c climb) run(ws *Workspace, dst, q, cavity []float64, likelihood func(gMean, gVar, mean,
	variance []float64)) {
	d := len(q) / 2
	mean := ws.param[0][:d]
	variance := ws.param[1][:d]
	gMean := ws.param[2][:d]
	gVar := ws.param[3][:d]
	clear(dst)
	for range c.steps {
		for i := range d {
			variance[i] = 1 / max(-2*(q[d+i]+dst[d+i]), c.floor)
			mean[i] = (q[i] + dst[i]) * variance[i]
		}
		likelihood(gMean, gVar, mean, variance)
		for i := range d {
			dst[i] += c.rate * (cavity[i] + gMean[i] - gVar[i]*mean[i] - q[i] - dst[i])
			dst[d+i] += c.rate * (cavity[d+i] + gVar[i]/2 - q[d+i] - dst[d+i])
		}
	}
}
