package noiseaware

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
)

// assured shortens the slopes and the intercept of a mean that follows from the scores by the bends, to the
// shares that are sure not to lose.
//
// The scores where all weights are 0 are those at the points, and the way by the last bend times the
// curvature. An estimate of all of this is too uncertain where noise hides the weights, so that the slopes'
// is flat: the mean of the noisy matrix's diagonal, which is right on average for weights that have nothing
// to do with the columns' correlations. Of the intercept it is at least the records times what the rate of
// class one is from 1/2, if that is known: where a class is rare, curvatures at the points are a small part
// of those on the way.
func (t Trace) assured(m *gauss.Moments, bends []bend, at revealed) error {
	d := len(m.Mean)
	last := bends[len(bends)-1]
	l := t.relation(last, at)
	start := mean(t.Scores, at.weights)
	for i, slope := range t.flat(at.curvature) {
		start[i] += slope * l.point[i]
	}
	if all := at.columns.records * (Share(at.rate, at.doubt) - 0.5); all*start[d-1] > start[d-1]*start[d-1] {
		start[d-1] = all
	}
	joint, noise, err := t.mixedJoint(bends, at)
	if err != nil {
		return err
	}
	rest := mat.NewVecDense(d, nil)
	rest.MulVec(last.pull, mat.NewVecDense(d, m.Mean))
	rest.AddScaledVec(l.start, -last.truth(m.Mean, m.Variance), rest)
	_, v := at.columns.logit(make([]float64, d), m.Variance, m.Covariance)
	squares := newLogits(at.curvature.matrix).squares
	level(squares[:d-1])
	Response{Start: start, Rest: rest.RawVector().Data, Joint: joint, Noise: noise,
		Products: mat.NewDiagDense(d, squares), Spread: v - logistic.Probit,
		Records: at.columns.records}.Shorten(m.Mean)
	return nil
}

// mixedJoint is joint of a mean that is the bends' mean, with the errors of the scores by the last bend. A
// chord follows noise several times as much as an arc, whose slope falls with the posterior's spread.
func (t Trace) mixedJoint(bends []bend, at revealed) (joint *mat.Dense, noise *mat.SymDense, err error) {
	d := len(t.Points[0])
	joint = mat.NewDense(d, d, nil)
	for _, b := range bends {
		m, err := t.along(b, at)
		if err != nil {
			return nil, nil, err
		}
		var part *mat.Dense
		if part, noise, err = t.joint(m, t.relation(b, at), at); err != nil {
			return nil, nil, err
		}
		part.Scale(1/float64(len(bends)), part)
		joint.Add(joint, part)
	}
	return joint, noise, nil
}

// flat are curvatures of the weights as if all slopes had the same.
func (t Trace) flat(e estimate) []float64 {
	d := e.matrix.SymmetricDim()
	out := diagonal(t.Curvature.Matrix)
	level(out[:d-1])
	out[d-1] = e.matrix.At(d-1, d-1)
	return out
}

// level gives all numbers their mean.
func level(v []float64) {
	each := floats.Sum(v) / float64(len(v))
	for i := range v {
		v[i] = each
	}
}

// joint is the covariance of a posterior's mean with the errors of the scores where all weights are 0, and
// the covariance of these: of the noise, of sampling, and of the flat curvature times the way. By Stein's
// lemma it is the derivative of the mean by the scores times the other ([Stein81]).
func (t Trace) joint(m *gauss.Moments, l relation, at revealed) (joint *mat.Dense,
	noise *mat.SymDense, err error) {
	d := len(m.Mean)
	f := l.bend.truth(m.Mean, m.Variance)
	slope, noise := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	slope.ScaleSym(f, l.bend.pull)
	noise.ScaleSym(f, l.scatter)
	scatter := mat.NewSymDense(d, nil)
	scatter.CopySym(noise)
	away := make([]float64, d)
	for i, x := range m.Mean {
		away[i] = (f*x - l.point[i]) * (f*x - l.point[i])
	}
	variance := t.Variance(at.weights)
	for i, v := range at.curvature.error(variance, away) {
		scatter.SetSym(i, i, scatter.At(i, i)+v)
		noise.SetSym(i, i, noise.At(i, i)+variance[i])
	}
	if sd := t.Curvature.SD; sd > 0 && d > 1 { // of d - 1 entries of the diagonal, each with twice the variance
		noise.SymRankOne(noise, 2*sd*sd/float64(d-1), slopesOf(l.point))
	}
	ridge(scatter)
	weighted, precision, err := normalEquations(slope, scatter, at.prior)
	if err != nil {
		return nil, nil, err
	}
	var response mat.Dense
	if err := precision.SolveTo(&response, weighted.T()); failed(err) {
		return nil, nil, fmt.Errorf("response of the mean: %w", err)
	}
	joint = new(mat.Dense)
	joint.Mul(&response, noise)
	return joint, noise, nil
}
