package pvi

import "math"

// climb takes natural-gradient steps on the party's local free energy, from noisy sums over
// samples of records, and returns the party's posterior as natural parameters. In the
// mean-field family the natural gradient of the records' expected log-likelihood is their
// best Gaussian factor at the current means m ([KL17], equation 7):
//
//	precision c = sum of -E[d^2 log p / dw^2],   linear part g + c m,   g = sum of E[d log p / dw]
//
// and a step moves the party's factor by LearningRate of the distance. The noise of many
// steps is then averaged, as rates fall, instead of remaining in the posterior.
//
// A record's vector is its gradient by the means in units of q's standard deviations and by
// the log standard deviations, times SDUnit, of a Gaussian as wide as q: lengths in q's own
// metric, so that neither a feature's unit nor its frequency decides what is clipped. q,
// from which the round started, is public.
func (d *descent) climb(q []float64, steps int) ([]float64, error) {
	c := d.l.cfg
	sd, theta := make([]float64, c.Weights()), make([]float64, len(q))
	for i := range sd {
		sd[i] = 1 / math.Sqrt(-2*q[len(sd)+i])
	}
	site := make([]float64, len(q))
	next := append([]float64(nil), q...)
	g := make([]float64, len(q))
	for i, x := range q {
		site[i] = x - d.cavity[i]
	}
	for range steps {
		if err := d.chart.Open(theta, next); err != nil {
			return nil, err
		}
		if err := d.fisher(g, theta, sd); err != nil {
			return nil, err
		}
		d.approach(next, site, g, theta, sd)
	}
	for i, x := range site {
		site[i] = x + d.cavity[i]
	}
	return finite(site, q), nil
}

// fisher writes an estimate of the sum of all records' vectors, each within the clip.
func (d *descent) fisher(g, theta, sd []float64) error {
	n, unit := len(sd), d.l.cfg.params().sdUnit()
	width := make([]float64, n) // from the current log sds' metric to q's
	for i, s := range sd {
		width[i] = unit * s * s * math.Exp(-2*theta[n+i])
	}
	return d.release(g, 1, func(rows []int, f func(int, []float64) error) error {
		return d.chart.RecordGradients(d.ws, theta, rows, func(row int, v []float64) error {
			for i, s := range sd {
				v[i] *= s
				v[n+i] *= width[i]
			}
			return f(row, v)
		})
	})
}

// approach is one step: the factor moves towards the one with the noisy sum g, and next is
// the cavity times it, with precisions of at least the floor, so that noise cannot lead out
// of the proper Gaussians. The party's update keeps the effect of noise on its factor; the
// server's floor is for the product of all.
func (d *descent) approach(next, site, g, theta, sd []float64) {
	n, floor := len(sd), d.l.cfg.PrecisionFloor
	p := d.l.cfg.params()
	unit, rate := p.sdUnit(), p.LearningRate
	for i, s := range sd {
		curvature := -g[n+i] / (unit * s * s)
		site[i] += rate * (g[i]/s + curvature*theta[i] - site[i])
		site[n+i] += rate * (-curvature/2 - site[n+i])
		next[i] = d.cavity[i] + site[i]
		next[n+i] = min(d.cavity[n+i]+site[n+i], -floor/2)
	}
}

// finite returns v, or otherwise if the steps diverged so far that v is not finite: the
// party then has no update in this round. Both are post-processing.
func finite(v, otherwise []float64) []float64 {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return otherwise
		}
	}
	return v
}
