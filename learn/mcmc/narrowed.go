package mcmc

import "gonum.org/v1/gonum/mat"

// narrowed is the evidence with the prior of predictions, if it is narrower than that of single weights.
//
// With n records of d weights logits have a standard deviation of at most n/4d, and 1 at least, under the
// slopes' prior. The laws of gradients that a posterior goes by, chords and arcs, hold for many records a
// weight. With few, means are too long, as those of maximum likelihood are ([SC19]), and predictions worse
// than the prior's. The intercept keeps its prior.
func (t trace) narrowed(g *geometry, e evidence) (evidence, bool) {
	if g.products == nil {
		return e, false
	}
	d, n := t.cfg.Features, t.cfg.Temper*float64(t.cfg.Records)
	columns := g.means(n)
	squares := mat.Trace(columns) - columns.At(d-1, d-1)
	logits := max(1, n/float64(4*d))
	precision := squares / (logits * logits)
	if precision <= t.cfg.PriorPrecision {
		return e, false
	}
	e.Prior = t.prior(g, precision)
	return e, true
}

// prior is precision as a matrix.
func (t trace) prior(g *geometry, slopes float64) *mat.SymDense {
	return mat.NewSymDense(t.cfg.Features, t.precision(g, slopes))
}
