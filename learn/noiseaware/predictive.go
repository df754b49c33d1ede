package noiseaware

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// predictive is the posterior that predicts, given that of the weights. A noisy curvature shows its large
// eigenvalues; along the other directions weights go to their prior, one at a time. Where columns belong
// together so do their weights, of which a logistic model's public posterior is a good estimate together.
// So the prior is about the public mean, and so wide that logits have a variance of 1. Scores near this
// mean say where it is not right yet, as if the curvature were exact: its error times the way would hold
// weights back most where scores are the clearest. Of a public posterior that noise hides it is only the
// intercept, whose column is in all records, and the rest is as for single weights.
func (t Trace) predictive(own *gauss.Moments, bends []bend, at revealed) (*gauss.Moments, error) {
	if t.Public == nil || at.columns == nil {
		return own, nil
	}
	h := at.curvature.matrix
	d := h.SymmetricDim()
	at.lift = 0
	at.centre = make([]float64, d)
	at.centre[d-1] = t.Public[d-1]
	if !t.audible(at) {
		m, err := t.lifted(bends, &at)
		if err != nil {
			return nil, err
		}
		return m, t.assured(m, bends, at)
	}
	var err error
	if at.weights, err = t.weights(h, t.Public, at.curvature.noise); err != nil {
		return nil, err
	}
	at.curvature.noise = 0
	at.centre = t.Public
	prior := make([]float64, d)
	for i := range prior {
		prior[i] = max(at.prior[i], mat.Trace(h)/h.At(d-1, d-1))
	}
	at.prior = prior
	return t.lifted(bends, &at)
}

// audible reports whether the noise on the logits of the public posterior has a variance of at most 1, by
// the mean curvature of the weights and the records' own, which is that of the bias.
func (t Trace) audible(at revealed) bool {
	h := at.curvature.matrix
	d := h.SymmetricDim()
	return float64(d)*floats.Sum(t.Variance(at.weights)) <= mat.Trace(h)*h.At(d-1, d-1)
}
