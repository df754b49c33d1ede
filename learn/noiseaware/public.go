package noiseaware

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// predictive is the posterior that predicts, given that of the weights. A noisy curvature shows its large
// eigenvalues; along the other directions weights go to their prior, one at a time. Where columns belong
// together so do their weights, of which a logistic model's public posterior is a good estimate together.
// So the mean is that of two: as if the curvature were exact, and the public one. The covariance is the
// mean of both, and counts the curvature's error. A public posterior that noise hides is left out.
func (t Trace) predictive(own *gauss.Moments, bends []bend, at revealed) (*gauss.Moments, error) {
	if t.CurvaturePoint == nil || !t.audible(at) {
		return own, nil
	}
	at.curvature.noise = 0
	m, err := t.lifted(bends, &at)
	if err != nil {
		return nil, err
	}
	for i, x := range t.CurvaturePoint {
		m.Mean[i] = (m.Mean[i] + x) / 2
	}
	m.Covariance.ScaleSym(0.5, own.Covariance)
	for i, v := range t.CurvatureSpread {
		m.Covariance.SetSym(i, i, m.Covariance.At(i, i)+v/2)
	}
	m.Variance = diagonal(m.Covariance)
	return m, nil
}

// audible reports whether the noise on the logits of the public posterior has a variance of at most 1, by
// the mean curvature of the weights and the records' own, which is that of the bias.
func (t Trace) audible(at revealed) bool {
	h := at.curvature.matrix
	d := h.SymmetricDim()
	return float64(d)*floats.Sum(t.Variance(at.weights)) <= mat.Trace(h)*h.At(d-1, d-1)
}
