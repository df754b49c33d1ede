package noiseaware

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
	"choir/learn/noiseaware/internal/shrink"
)

// Trace is what R rounds revealed of d weights.
type Trace struct {
	Prior  float64     // precision of every weight, around 0
	Scales Scales      // of weights in predictions
	Points [][]float64 // R x d: where the scores were computed
	Scores [][]float64 // R x d: the log-likelihood's gradient by the weights, with noise
	// Noise is the R x R covariance of the noise of the rounds in one coordinate. Only its
	// shape matters: it weighs the rounds.
	Noise *mat.SymDense
	// Sampling, if not nil, is the covariance of each round's sampling error, in curvatures.
	Sampling []float64
	// Variance returns the variance of the noise of the weighted sum of the scores in every
	// coordinate, for weights that add up to 1.
	Variance func(weights []float64) []float64
	// Spread, for a logistic model, is the R x d variances of the public Gaussians around the
	// points, over which scores are expectations, and CurvatureSpread and CurvaturePoint are
	// those of the curvature; the last weight is the bias, whose column is 1. nil for a linear
	// model.
	Spread                          [][]float64
	CurvatureSpread, CurvaturePoint []float64
	// Public is the mean of the public posterior of a logistic model that predicts without counting the
	// noise; nil: not known.
	Public  []float64
	Records float64 // of the scores and the curvature; 0: not known
	// Mix, if not nil, are the shares of every round's score that are of the points At, over Gaussians of the
	// variances AtSpread, where Points and Spread are means of these; each row adds up to 1.
	Mix          [][]float64
	At, AtSpread [][]float64
	// Observed is the variance of an observation of a linear model over the one that scores and the curvature
	// assume, as it was measured; 0: it was not.
	Observed float64
	// Errors, if not nil, are the covariances of what the scores lack of all records', in curvatures.
	Errors *mat.SymDense
	// Of, of a logistic model, is what records leave in the scores; nil: not known.
	Of Records
	// Whole reports that clips hardly cut scores: then predictions go without Of, and single weights as
	// long as what follows from Of is near.
	Whole bool
	// Curvature is the estimate of the likelihood's curvature, and what it knows of it.
	Curvature Curvature
	// Terms are those of the curvature's rounds, of single records; nil: not known, or Of knows, or the
	// curvature of a linear model is Lengthened. Its records have the curvature Observation times the
	// products of their columns.
	Terms       *Slices
	Observation float64
}

// counted is the share of the posterior's variance in the distance that multiplies the curvature's
// error, for single weights of a linear model. With all of it intervals are too wide, since the error's
// own law makes long distances less likely.
const counted = 0.5

// lifts of the intercept, each with a posterior whose curvature counts the one before.
const lifts = 4

// passes of the iteration over the error of the curvature; it converges after a few.
const passes = 8

// Posterior returns the posterior that predicts, with its full covariance, and the means and variances of
// single weights. Single weights count the curvature's error times the distance from the points, by the law
// of this error, and a linear model's predictions that to the mean; predictive has those of classes. Where
// Of is known, and noise doesn't hide the curvature, single weights have the means that follow from it, and
// the variances of a mixture of both: Of knows clips, and the bends how little is known of curvatures on
// the way. Where the sums tell that the weights of classes are longer than the prior draws them, they are in
// a mixture with those under a longer prior. Predictions go towards what follows from Of where that is far,
// clips are short and noise doesn't hide it. From mixed points all follows from Of.
func (t Trace) Posterior() (m, single *gauss.Moments, err error) {
	a, err := t.under()
	if err != nil {
		return nil, nil, err
	}
	if m, err = t.predicting(a); err != nil {
		return nil, nil, err
	}
	if t.Spread == nil {
		return m, a.single, nil
	}
	return m, Longer(t.Prior, a.weights(), func(precision float64) (Weights, bool) {
		at := t
		at.Prior = precision
		far, err := at.under()
		return far.weights(), err == nil && (far.cut == nil) == (a.cut == nil)
	}), nil
}

// answer is what follows from the rounds under one prior.
type answer struct {
	view   view
	cut    *gauss.Moments // what follows from Of; nil: nothing
	single *gauss.Moments
}

// weights are the single weights, whose law is the one that follows from Of, if it does.
func (a answer) weights() Weights {
	if a.cut != nil {
		return Weights{a.cut, a.single}
	}
	return Weights{a.single, a.single}
}

// under is the answer under the prior of the trace.
func (t Trace) under() (a answer, err error) {
	if len(t.Points) == 0 {
		return a, fmt.Errorf("no rounds: %w", gauss.ErrImproper)
	}
	h, err := t.Curvature.repaired()
	if err != nil {
		return a, err
	}
	if a.view, err = t.view(h); err != nil {
		return a, err
	}
	known := a.view.at.columns != nil
	if t.Of != nil && known && (t.Mix != nil || t.Curvature.clear()) {
		if a.cut, err = t.cut(a.view.own, a.view.at); err != nil {
			a.cut = nil
		}
	}
	if t.onlyCut(a) {
		a.single = shrink.About(a.cut, a.cut, t.Prior)
		return a, nil
	}
	if a.single, err = t.single(a.view); err == nil && t.Terms != nil && known {
		err = t.unclip(a.single, h)
	}
	switch {
	case a.cut == nil || err != nil:
	case t.Whole:
		a.single = aside(a.cut, a.single, t.Prior)
	default:
		a.single = beside(a.cut, a.single, t.Prior)
	}
	return a, err
}

// onlyCut reports whether all follows from Of.
func (t Trace) onlyCut(a answer) bool { return a.cut != nil && t.Mix != nil }

// predicting is the posterior that predicts.
func (t Trace) predicting(a answer) (*gauss.Moments, error) {
	if t.onlyCut(a) {
		return a.cut, nil
	}
	m, err := t.predictive(a.view.own, a.view.bends, a.view.at)
	if a.cut == nil || err != nil {
		return m, err
	}
	at := a.view.at
	if !t.Whole && t.audible(at) && floats.Sum(a.cut.Variance)*t.Prior < told*float64(len(a.cut.Mean)) {
		m = towards(a.cut, m)
		m.Mean[len(m.Mean)-1] += at.columns.shift(m, at.rate, at.doubt)
	}
	return m, nil
}

// told is the share of the prior's variance below which what follows from Of may move predictions.
const told = 0.1

// beside are the means of single weights by one law, with the variances of a mixture in which another is as
// likely, up to the prior's.
func beside(law, other *gauss.Moments, prior float64) *gauss.Moments {
	out := &gauss.Moments{Mean: law.Mean, Variance: slices.Clone(law.Variance)}
	for i, v := range other.Variance {
		half := (law.Mean[i] - other.Mean[i]) / 2
		out.Variance[i] = min((law.Variance[i]+v)/2+half*half, 1/prior)
	}
	return out
}

// view is the posterior of the weights by an estimate of the curvature, with what it follows from.
type view struct {
	own   *gauss.Moments
	bends []bend
	at    revealed
}

// mostOff is how far, in standard deviations of the logistic function, columns' means may move logits for the
// arc to hold.
const mostOff = 0.5

func (t Trace) view(h estimate) (v view, err error) {
	weights, err := t.weights(h.matrix, t.last(), 0)
	if err != nil {
		return v, err
	}
	v.bends = []bend{line(h.matrix)}
	if d := h.matrix.SymmetricDim(); t.Spread != nil && h.matrix.At(d-1, d-1) > 0 {
		v.bends = []bend{chord(h.matrix, t.CurvatureSpread, scattered(t.Points, weights)),
			arc(h, t.CurvaturePoint, t.CurvatureSpread, t.Curvature.SD, t.Records)}
	}
	v.at = revealed{curvature: h, weights: weights, prior: t.Scales.Precisions(t.Prior, len(t.Points[0]))}
	if len(v.bends) > 1 {
		v.at.columns = t.columns(h)
		v.at.rate, v.at.doubt = t.rate(v.at.columns, weights)
		if math.Abs(v.at.columns.off(t.CurvaturePoint)) > mostOff*math.Sqrt(logistic.Probit) {
			v.bends = v.bends[:1] // the arc's columns have the mean 0
		}
	}
	v.own, err = t.lifted(v.bends, &v.at)
	return v, err
}

// single are the means and variances of single weights.
func (t Trace) single(v view) (*gauss.Moments, error) {
	at := v.at
	at.whole = true
	at.prior = Scales(nil).Precisions(t.Prior, len(at.prior))
	wide, err := t.mixed(v.bends, &at)
	if err != nil {
		return nil, err
	}
	wide.Mean[len(wide.Mean)-1] += at.lift
	if t.Spread != nil && t.Scales == nil {
		return shrink.About(wide, wide, t.Prior), nil
	}
	return shrink.About(v.own, wide, t.Prior), nil
}

// revealed is what the rounds tell of a posterior, however scores depend on the weights.
type revealed struct {
	curvature estimate
	weights   []float64 // of the rounds
	prior     []float64 // precisions of the weights
	centre    []float64 // the prior's mean; nil: 0
	// whole reports that the distance to the weights, by which the curvature's error is multiplied, is
	// that to each of them, and not to their mean.
	whole bool
	// columns, of a logistic model, with the rate of class one and the standard deviation of its
	// error; lift is what an intercept lacks for the rate.
	columns     *columns
	rate, doubt float64
	lift        float64
	strayed     bool // an arc is not used in predictions
}

// lifted is the posterior whose mean prediction is near the rate of class one. It sets the lift.
func (t Trace) lifted(bends []bend, at *revealed) (*gauss.Moments, error) {
	for left := lifts; ; left-- {
		m, err := t.mixed(bends, at)
		if err != nil || at.columns == nil {
			return m, err
		}
		before := at.lift
		at.lift = at.columns.shift(m, at.rate, at.doubt)
		if at.lift == before || left == 1 {
			m.Mean[len(m.Mean)-1] += at.lift
			return m, nil
		}
	}
}

// mixed is the posterior if all bends are as likely. There are one or two. Of predictions the second counts
// if it settles: the factor of an arc falls as the intercept grows, and the intercept grows as it falls, so
// that it may run away. It also counts for nothing where it has run away from the rate of class one. Single
// weights are as unsure then.
func (t Trace) mixed(bends []bend, at *revealed) (*gauss.Moments, error) {
	m, err := t.along(bends[0], *at)
	if err != nil || len(bends) == 1 {
		return m, err
	}
	other, settled, err := t.settling(bends[1], *at)
	if err != nil {
		return nil, err
	}
	if !at.whole {
		at.strayed = at.strayed || at.lift == 0 && at.astray(m, other)
		if at.strayed || !settled {
			return m, nil
		}
	}
	return between(m, other), nil
}

// stray is by how much more an arc's intercept than a chord's may be off the one that the rate of class one
// asks for, in logits.
const stray = 1.5

// astray reports whether an arc's mean is far from the rate of class one, and a chord's is not.
func (by *revealed) astray(chord, arc *gauss.Moments) bool {
	if by.columns == nil {
		return false
	}
	off := func(m *gauss.Moments) float64 { return math.Abs(by.columns.shift(m, by.rate, by.doubt)) }
	return off(arc) > off(chord)+stray
}

// relation is how the rounds' scores depend on the weights w: start is N(f pull w, f scatter) but for the
// noise, with f and pull those of the bend.
type relation struct {
	bend    bend
	point   []float64
	start   *mat.VecDense
	scatter *mat.SymDense
}

// relation is that of a bend.
func (t Trace) relation(curve bend, by revealed) relation {
	d := len(t.Points[0])
	l := relation{bend: curve, point: make([]float64, d), start: mat.NewVecDense(d, nil),
		scatter: mat.NewSymDense(d, nil)}
	for s := range t.Points {
		t.parts(s, func(share float64, p, spread []float64) {
			floats.AddScaled(l.point, by.weights[s]*share*curve.factor(p, spread), p)
		})
	}
	own := 1 + t.errors(by.weights) + t.sampling(by.weights)
	if t.Observed > 0 {
		own *= t.Observed
	}
	l.scatter.ScaleSym(own, by.curvature.matrix)
	l.start.MulVec(curve.pull, mat.NewVecDense(d, l.point))
	l.start.AddVec(l.start, mat.NewVecDense(d, mean(t.Scores, by.weights)))
	return l
}

// along is the posterior for a bend: a normal law, or, for single weights of a logistic model, the
// moments of the law of the curvature's error.
func (t Trace) along(curve bend, by revealed) (*gauss.Moments, error) {
	m, _, err := t.settling(curve, by)
	return m, err
}

// unsettled is by how much, as a share, a factor may move in the last pass.
const unsettled = 0.1

// settling is along, and whether the bend's factor moves no more in the last pass.
func (t Trace) settling(curve bend, by revealed) (m *gauss.Moments, settled bool, err error) {
	l := t.relation(curve, by)
	d := len(l.point)
	variance := t.Variance(by.weights)
	away := make([]float64, d) // mean squares of the distances to the point
	pull, scatter := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	f, before := 1.0, 1.0
	for range passes {
		before = f
		pull.ScaleSym(f, curve.pull)
		scatter.ScaleSym(f, l.scatter)
		start := by.from(pull, l.start)
		if m, err = solve(pull, scatter, start, by.curvature.error(variance, away), by.prior); err != nil {
			return nil, false, err
		}
		if by.centre != nil {
			floats.Add(m.Mean, by.centre)
		}
		lifted := append([]float64(nil), m.Mean...)
		lifted[d-1] += by.lift
		f = curve.truth(lifted, m.Variance)
		for i, x := range m.Mean {
			x = f*x - l.point[i]
			away[i] = x * x
			if by.whole {
				away[i] += counted * f * f * m.Variance[i]
			}
		}
	}
	settled = math.Abs(f-before) <= unsettled*before
	if by.whole && by.curvature.noise > 0 && t.Spread != nil {
		m, err = momentsOf(newDistant(t, l, by).log, m)
	}
	return m, settled, err
}

// from is what the scores tell of the way from the prior's mean.
func (by revealed) from(pull *mat.SymDense, start *mat.VecDense) *mat.VecDense {
	if by.centre == nil {
		return start
	}
	way := mat.NewVecDense(len(by.centre), nil)
	way.MulVec(pull, mat.NewVecDense(len(by.centre), by.centre))
	way.SubVec(start, way)
	return way
}
