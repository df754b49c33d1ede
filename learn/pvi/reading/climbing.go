package reading

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// climbing is a trace of rounds of natural-gradient steps with noise at every party.
//
// From the factor t_i a party takes T steps of rate a, each towards a noisy estimate g_ik of its best
// factor at its own point. With A = 1 - (1-a)^T and w_k = a (1-a)^(T-k) / A the update is
// A (sum_k w_k g_ik - t_i). All factors t_i together are the public state without the prior, so
//
//	sum/A + state - prior = sum_ik w_k g_ik
//
// observes the likelihood's natural parameters near the public point, with fresh noise in every round. Of
// parties that a round does not count the state has the factors, and what these started with is taken out.
type climbing struct {
	reading
	scores    [][]float64
	noise     [][]float64 // variances of the scores' noise
	precision [][]float64 // of the likelihood's factors
	doubt     [][]float64 // variances of their noise
	sampling  []float64   // covariances of the samples' errors, in curvatures
	lacks     []float64   // by round: the share of the parties' best factors that it does not have
}

// climbingPosterior is NoiseAware of noisy natural-gradient steps.
func climbingPosterior(c pvi.Config, trace []Observation) (*bayes.Posterior, error) {
	r := climbing{reading: reading{c: c, prior: priorOf(c), scales: scalesOf(c, trace),
		attendance: attended(c, trace)}}
	for _, o := range trace {
		if len(o.Raw) != c.Dim() || len(o.Sum) != c.Dim() {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, bayes.ErrShape)
		}
		add := r.add
		switch {
		case c.CurvatureRound(o.Round):
			add = r.addCurvature
		case o.Others || o.Round == 1 && c.Strategy.Name() == pvi.NameHybrid:
			add = r.pass
		}
		if err := add(o); err != nil {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, err)
		}
	}
	if len(r.points) == 0 {
		return nil, fmt.Errorf("no round of learning: %w", gauss.ErrImproper)
	}
	m, single, err := r.posterior()
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	return c.Likelihood().With(m, single, r.rare)
}

// posterior returns the moments, and the variances of single weights where they are others.
func (r *climbing) posterior() (m, single *gauss.Moments, err error) {
	curvature, ok := r.curvature()
	if !ok {
		at := r.settled()
		if drowned(at) {
			m, single = r.nothing()
			return m, single, nil
		}
		if r.c.Model == bayes.Logistic {
			at.Records = r.all
		}
		m, single = at.Kept()
		return m, single, nil
	}
	if p := r.c.Strategy.Params(); p.Sampling != pvi.SamplingNone {
		curvature.SD = math.Hypot(curvature.SD, r.sampled(curvature.Matrix, p))
	}
	t := noiseaware.Trace{Prior: r.c.PriorPrecision, Scales: r.scales, Points: r.points, Scores: r.scores,
		Noise: mat.NewSymDense(len(r.points), nil), Sampling: r.sampling, Curvature: curvature}
	for s, v := range r.noise {
		t.Noise.SetSym(s, s, floats.Sum(v)/float64(len(v)))
	}
	r.doubtful(t.Noise, curvature)
	t.Variance = func(weights []float64) []float64 {
		out := make([]float64, r.c.Weights())
		for s, w := range weights {
			floats.AddScaled(out, w*w, r.noise[s])
		}
		return r.without(out, weights, curvature)
	}
	if r.c.Model == bayes.Logistic {
		t.Spread = r.spreads
		t.CurvatureSpread = r.spread
		t.CurvaturePoint = r.at
		t.Public = r.at
		t.Records = r.records
	}
	if r.rare, err = t.Rare(); err != nil {
		return nil, nil, err
	}
	return t.Posterior()
}

// sampled is the standard deviation of the samples' error on an entry of the curvature, for records
// of about the same length.
func (r *climbing) sampled(h *mat.SymDense, p pvi.Params) float64 {
	square, least := 0.0, r.counts[0]
	for i := range r.c.Weights() {
		square += h.At(i, i) * h.At(i, i) / float64(r.c.Weights())
	}
	for _, n := range r.counts {
		least = min(least, n)
	}
	if r.records == 0 {
		return 0
	}
	return math.Sqrt((1 - p.SampleRate) / p.SampleRate * square / r.records / (least * float64(p.Steps)))
}

// add adds a round of steps.
func (r *climbing) add(o Observation) error {
	c, p := r.c, r.c.Strategy.Params()
	raw, q, err := r.open(o)
	if err != nil {
		return err
	}
	d, sdUnit := c.Weights(), cmp.Or(p.SDUnit, 1)
	path, weights, moved := r.path(q, o)
	unit := math.Ldexp(1, -int(c.FracBits))
	s := side{whole: 1}
	if r.attendance != nil {
		s = r.attendance.side(len(r.publics) - 1)
	}
	v := o.noise(c) * unit * unit * floats.Dot(weights, weights) / (s.whole * s.whole)
	if p.Sampling != pvi.SamplingNone {
		v /= p.SampleRate * p.SampleRate
		r.sampling = append(r.sampling, floats.Dot(weights, weights)*(1-p.SampleRate)/p.SampleRate/s.whole)
	}
	natural := make([]float64, len(q))
	for i, x := range o.Sum {
		natural[i] = float64(x)*unit/moved + (1-c.Beta)*raw[i] + c.Beta*q[i] - r.prior[i]
	}
	r.separate(natural, s)
	point, score, noise := make([]float64, d), make([]float64, d), make([]float64, d)
	precision, doubt, spread := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range d {
		wide := 0.0
		for k, w := range weights {
			point[i] += w * path[k][i]
		}
		for k, w := range weights {
			wide += w * w * (path[k][i] - point[i]) * (path[k][i] - point[i]) / floats.Dot(weights, weights)
		}
		spread[i] = -1 / (2 * q[d+i])
		precision[i] = -2 * natural[d+i]
		doubt[i] = v / (sdUnit * sdUnit * spread[i] * spread[i])
		score[i] = natural[i] - precision[i]*point[i]
		noise[i] = v/spread[i] + doubt[i]*wide
	}
	r.dampings = append(r.dampings, moved*dampingOf(c, o.Round))
	r.points = append(r.points, point)
	r.spreads = append(r.spreads, spread)
	r.all = max(r.all, o.Records)
	r.scores = append(r.scores, score)
	r.noise = append(r.noise, noise)
	r.precision = append(r.precision, precision)
	r.doubt = append(r.doubt, doubt)
	r.lacks = append(r.lacks, max(0, 1-s.whole))
	return nil
}

// pass is add for a round whose sum observes nothing and whose noise is not in later sums.
func (r *climbing) pass(o Observation) error {
	_, _, err := r.open(o)
	return err
}

// open keeps the public posterior of a round of learning, and returns it with the state.
func (r *climbing) open(o Observation) (raw, q []float64, err error) {
	public, err := r.c.Posterior(o.Raw)
	if err != nil {
		return nil, nil, err
	}
	r.publics = append(r.publics, public.Natural())
	return r.c.Reals(o.Raw), public.Natural(), nil
}

// climbed is the share of the way to their best factors that the parties of a round of learning go, before
// damping.
func climbed(c pvi.Config, round int) float64 {
	if !c.Climbs() || c.Strategy.Name() == pvi.NameHybrid && round == 1 {
		return 1
	}
	p := c.Strategy.Params()
	return 1 - math.Pow(1-p.LearningRate, float64(p.Steps))
}

// path returns the means at which the parties take their steps, on average, with the steps' weights,
// and the share of the way to their best factors that a round goes.
func (r *climbing) path(q []float64, o Observation) (means [][]float64, weights []float64, moved float64) {
	c, p := r.c, r.c.Strategy.Params()
	d, steps := c.Weights(), p.Steps
	left := 1.0
	for range steps {
		left *= 1 - p.LearningRate
	}
	moved = 1 - left
	unit := math.Ldexp(1, -int(c.FracBits)) / float64(max(o.Parties, 1))
	gone := 0.0
	for k := range steps {
		mean := make([]float64, d)
		for i := range mean {
			at := min(q[d+i]+gone*float64(o.Sum[d+i])*unit/moved, -c.PrecisionFloor/2)
			mean[i] = (q[i] + gone*float64(o.Sum[i])*unit/moved) / (-2 * at)
		}
		means = append(means, mean)
		weights = append(weights, p.LearningRate*math.Pow(1-p.LearningRate, float64(steps-1-k))/moved)
		gone += p.LearningRate * (1 - gone)
	}
	return means, weights, moved
}

// settled is where the state would go without noise. Columns that are correlated bend the scores of classes
// more than each of them alone, which a mean over all rounds, from far points too, would take for signal. The
// scores of a linear model do not bend, so that its rounds have the mean of least variance.
func (r *climbing) settled() noiseaware.Diagonal {
	d, weights := r.c.Weights(), r.settling(1)
	if r.c.Model == bayes.Linear {
		weights = r.surest()
	}
	out := noiseaware.Diagonal{Prior: r.c.PriorPrecision, Scales: r.scales, Floor: predictedFloor(r.c),
		Scores:    make([]float64, d),
		Precision: make([]float64, d), Point: make([]float64, d), ScoreNoise: make([]float64, d),
		PrecisionNoise: make([]float64, d)}
	for s, w := range weights {
		floats.AddScaled(out.Precision, w, r.precision[s])
		floats.AddScaled(out.Point, w, r.points[s])
		floats.AddScaled(out.ScoreNoise, w*w, r.noise[s])
		floats.AddScaled(out.PrecisionNoise, w*w, r.doubt[s])
	}
	by := missed(r.lacks, weights)
	for i, p := range out.Precision {
		out.ScoreNoise[i] += by * max(0, p)
	}
	for s, w := range weights {
		for i := range d {
			out.Scores[i] += w * (r.scores[s][i] + r.precision[s][i]*(r.points[s][i]-out.Point[i]))
		}
	}
	out.Origin = out.Point
	return out
}

// leastCurvature is the least of the precisions, each in standard deviations of its noise and their sum in
// its own, that tells how far weights are from a far point. Normal noise alone reaches it once in 740
// sessions.
const leastCurvature = 3

// drowned reports scores at points beyond the prior's weights with precisions that are noise: these can't
// carry scores back to where the prior expects weights, and their estimates, which are positive, would leave
// them at the points, where nothing but noise has led the steps.
func drowned(at noiseaware.Diagonal) bool {
	far, shown := at.Prior*floats.Dot(at.Point, at.Point), 0.0
	for i, p := range at.Precision {
		shown += p / math.Sqrt(at.PrecisionNoise[i])
	}
	d := float64(len(at.Point))
	return far > d && shown < leastCurvature*math.Sqrt(d)
}

// surest are the weights of the rounds whose mean has the least variance. As in a noiseaware.Trace, a round
// far from the last point is less reliable.
func (r *climbing) surest() []float64 {
	n := len(r.points)
	mean := make([]float64, r.c.Weights())
	for _, p := range r.precision {
		floats.AddScaled(mean, 1/float64(n), p)
	}
	weights := make([]float64, n)
	for s := range weights {
		v := math.SmallestNonzeroFloat64
		for i, x := range r.points[s] {
			far := max(mean[i], 0) * (x - r.points[n-1][i])
			v += r.noise[s][i] + far*far
		}
		weights[s] = 1 / v
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return weights
}
