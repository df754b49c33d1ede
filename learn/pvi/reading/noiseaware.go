package reading

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/noiseaware/newton"
	"choir/learn/pvi"
)

// Observation is what a round revealed, and its known noise.
type Observation struct {
	Round int
	Raw   []int64 // the public raw state before the round
	Sum   []int64 // in units of 2^-FracBits
	// Variance of the noise on a coordinate of Sum, in its unit squared: that of all parties
	// that the sum counts.
	Variance float64
	Parties  int // that Sum counts; 0: not known
	Absent   int // parties that Sum does not count
	// Set are the places of the parties that Sum counts; nil: not known.
	Set     []int
	Records float64 // of these parties; 0: not known
	// Shares are the parties' declared shares of all records, by place; nil: alike.
	Shares []float64
	// Scale is the largest standard deviation that weights are expected to have by what is public of
	// the data; 0: the prior's.
	Scale float64
	// Ranged reports that of some columns nothing but a range is public.
	Ranged bool
	Doubts []newton.Doubt // of columns of which nothing but a range is public; nil: none
	// Intercept is that of the intercept, of strategies without Newton steps.
	Intercept float64
	// Others reports that the round was with other parties than those whose posterior is wanted:
	// its sum is of other factors, but its noise is in the state.
	Others bool
}

// noise is the variance of the noise on Sum and on what the state has of absent parties. A released
// factor is a mean of its party's releases, so that its noise is at most that of one.
func (o Observation) noise(c pvi.Config) float64 {
	if !c.Released() || o.Parties == 0 {
		return o.Variance
	}
	return o.Variance * (1 + float64(o.Absent)/float64(o.Parties))
}

// NoiseAware returns the posterior that counts the noise on the revealed sums, given all
// rounds of a run in order: the full covariance after curvature rounds or in the full family,
// otherwise a mean-field one whose SD counts unknown correlations. It is post-processing.
// docs/noise-aware.md has the derivation. Errors: ErrUncorrected, ErrShape,
// gauss.ErrImproper.
//
// A round's revealed sum is what its factors lack, sum_k (l_k(q) - t_k) + noise, with l_k(q)
// the best factor of shard k at the public posterior q. All private factors together are
// the public state without the prior and without the noise so far, sum_{j<s} a_j n_j. So
//
//	sum + state - prior = sum_k l_k(q) + n_s + sum_{j<s} a_j n_j
//
// observes the likelihood's natural parameters at a public point with known noise, whether
// or not the run has converged.
func NoiseAware(c pvi.Config, trace []Observation) (*bayes.Posterior, error) {
	if err := c.Corrected(); err != nil {
		return nil, err
	}
	if c.Strategy.Params().Optimiser == pvi.Newton {
		return stepsPosterior(c, trace)
	}
	if c.Climbs() {
		return climbingPosterior(c, trace)
	}
	r := reading{c: c, prior: priorOf(c), scales: scalesOf(c, trace), sparse: sparse(c, trace),
		attendance: attended(c, trace)}
	for _, o := range trace {
		if len(o.Raw) != c.Dim() || len(o.Sum) != c.Dim() {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, bayes.ErrShape)
		}
		var err error
		switch {
		case c.ResidualRound(o.Round):
		case c.CurvatureRound(o.Round):
			err = r.addCurvature(o)
		default:
			err = r.addRound(o)
		}
		if err != nil {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, err)
		}
	}
	q, err := r.solved()
	if err != nil {
		return nil, err
	}
	if c.ResidualFrom > 0 {
		if q, err = r.withResiduals(trace, q); err != nil {
			return nil, err
		}
	}
	if r.alone != nil || q.Measured() == nil || c.PrecisionUnit == 0 {
		return r.sure(q)
	}
	return r.again(trace, q)
}

// solved is the posterior of what was read.
func (r *reading) solved() (*bayes.Posterior, error) {
	m, single, err := r.posterior()
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	return r.c.Likelihood().With(m, single, r.rare)
}

// priorOf is the prior in natural parameters: what a run without a start of its factors starts with.
func priorOf(c pvi.Config) []float64 {
	c.StartPrecision, c.StartSpread = 0, 0
	return c.Reals(c.Initial())
}

func spaceOf(c pvi.Config) gauss.Space {
	return gauss.Space{Family: c.Family, Features: c.Weights()}
}

// dampingOf is a round's damping on the grid.
func dampingOf(c pvi.Config, round int) float64 {
	return math.Ldexp(float64(c.DampingUnits(round)), -int(c.DampingBits))
}

// reading is a trace in real numbers.
type reading struct {
	c          pvi.Config
	prior      []float64
	scales     noiseaware.Scales
	attendance *attendance // nil: every round counts all parties
	sides      []side      // of the observations, where some don't
	sparse     bool        // most private factors are from earlier points

	// By round of learning, of others too: the mean, the variances and the natural parameters of the public
	// posterior, and the variance of one party's noise.
	means, wides, publics [][]float64
	each                  []float64

	points   [][]float64
	spreads  [][]float64 // variances of the public posterior at the points
	naturals [][]float64 // of the likelihood at the points, with noise
	owns     [][]float64 // what their sums add to these
	all      float64     // records, at most; 0: not known
	dampings []float64
	parties  int     // of the last round
	records  float64 // of the curvature
	rare     bool
	observed float64   // measured variance of an observation over the plan's; 0: not measured
	near     []float64 // weights by a first reading; nil: this is the first

	lengthened *noiseaware.Curvature // a linear model's, with what clips have taken; nil: not known yet
	alone      *noiseaware.Diagonal  // a linear model's weights where each is by itself; nil otherwise
	seen       *noiseaware.Residuals // nil: no residual rounds, or noise hides them
	clips      []float64             // of the rounds' terms
	variances  []float64             // of a round's own noise on a linear part
	rounds     []int                 // positions in moved
	moved      []float64             // standard deviations of the noise that every round left in the state
	reach      float64               // sum of the dampings of all rounds

	at       []float64 // mean of the public posterior of the curvature
	spread   []float64 // its variances
	entries  []float64 // sums of the curvature's entries, in the order of its slices
	counts   []float64 // rounds that revealed an entry, each by the share of the records that it counts
	slices   []slice
	curved   int       // parties of the last of these rounds
	entryVar []float64 // variances of the sums
}

// addRound adds a round of learning.
func (r *reading) addRound(o Observation) error {
	c := r.c
	public, err := c.Posterior(o.Raw)
	if err != nil {
		return err
	}
	raw, q, m := c.Reals(o.Raw), public.Natural(), public.Moments()
	unit := math.Ldexp(1, -int(c.FracBits))
	damping := dampingOf(c, o.Round)
	r.moved = append(r.moved, damping*math.Sqrt(o.Variance)*unit)
	r.reach += damping
	r.follow(m.Mean, m.Variance, q, o.Variance*unit*unit/float64(max(o.Parties, 1)))
	if o.Others {
		return nil
	}
	natural, own := make([]float64, len(raw)), make([]float64, len(raw))
	sum, err := c.NaturalSum(o.Round, o.Raw, o.Sum)
	if err != nil {
		return err
	}
	for i, x := range sum {
		own[i] = float64(x) * unit
		natural[i] = own[i] + (1-c.Beta)*raw[i] + c.Beta*q[i] - r.prior[i]
	}
	point, spread := r.mixture(natural)
	floats.Scale(1/r.whole(len(r.points)), own)
	r.owns = append(r.owns, own)
	r.all = max(r.all, o.Records)
	r.points = append(r.points, point)
	r.spreads = append(r.spreads, spread)
	r.naturals = append(r.naturals, natural)
	r.dampings = append(r.dampings, damping)
	r.rounds = append(r.rounds, len(r.moved)-1)
	step := unit / c.TermScale(o.Round)
	r.clips = append(r.clips, c.Clip/c.TermScale(o.Round))
	r.variances = append(r.variances, o.noise(c)*step*step)
	r.parties = o.Parties
	return nil
}

// addCurvature adds a curvature round.
func (r *reading) addCurvature(o Observation) error {
	if o.Others {
		return nil
	}
	c := r.c
	public, err := c.Posterior(o.Raw)
	if err != nil {
		return err
	}
	r.at = public.Moments().Mean
	r.spread = public.Moments().Variance
	share := r.attendance.share(o)
	r.records = o.Records / share
	r.curved = o.Parties
	d := c.Weights()
	n := d * (d + 1) / 2
	if r.entries == nil {
		r.entries = make([]float64, n)
		r.counts = make([]float64, n)
		r.entryVar = make([]float64, n)
	}
	from, scale := c.CurvatureSlice(o.Round)
	unit := math.Ldexp(1, -int(c.FracBits)) / scale
	if p := c.Strategy.Params(); c.Climbs() { // the update is the mean of the steps' sums over samples
		o.Variance /= float64(p.Steps)
		if p.Sampling != pvi.SamplingNone {
			o.Variance /= p.SampleRate * p.SampleRate
		}
	}
	r.slices = append(r.slices, slice{from, share, r.attendance.row(o)})
	for i := 0; i < c.Dim() && from+i < n; i++ {
		r.entries[from+i] += float64(o.Sum[i]) * unit
		r.counts[from+i] += share
		r.entryVar[from+i] += o.Variance * unit * unit
	}
	return nil
}

// posterior returns the moments, and the variances of single weights where they are others.
func (r *reading) posterior() (m, single *gauss.Moments, err error) {
	if len(r.points) == 0 {
		return nil, nil, fmt.Errorf("no round of learning: %w", gauss.ErrImproper)
	}
	if r.hidden() {
		m, single = r.nothing()
		return m, single, nil
	}
	curvature, ok := r.curvature()
	known := r.recorded()
	if !ok || known == nil && r.sparse {
		m, single = r.eachWeight()
		return m, single, nil
	}
	t := noiseaware.Trace{Prior: r.c.PriorPrecision, Scales: r.scales, Points: r.points,
		Noise: r.covariance(), Curvature: curvature}
	for s := range r.points {
		t.Scores = append(t.Scores, r.score(s))
	}
	if r.c.Model == bayes.Logistic {
		t.Spread = r.spreads
		t.CurvatureSpread = r.spread
		t.CurvaturePoint = r.at
		t.Public = r.at
		t.Records = r.records
	}
	r.mixed(&t)
	if known != nil {
		t.Of = known
	}
	t.Observed = r.observed
	if err := r.unclip(&t); err != nil {
		return nil, nil, err
	}
	t.Variance = func(weights []float64) []float64 { return r.noise(t.Noise, weights) }
	if r.rare, err = t.Rare(); err != nil {
		return nil, nil, err
	}
	return t.Posterior()
}

// score is the noisy gradient of the log-likelihood at the point of a round: the linear part
// minus the precision times the point.
func (r *reading) score(s int) []float64 {
	space := spaceOf(r.c)
	out := append([]float64(nil), r.naturals[s][:space.Features]...)
	m := mat.NewVecDense(space.Features, r.points[s])
	var pull mat.VecDense
	pull.MulVec(space.Precision(r.naturals[s]), m)
	floats.Sub(out, pull.RawVector().Data)
	return out
}

// covariance of the noise of the rounds: round s has its own, and a_j of every earlier round j
// that private factors lack. Released factors have the noise that the state has.
func (r *reading) covariance() *mat.SymDense {
	n := len(r.points)
	if r.attendance != nil && r.c.Released() {
		return r.attendance.noise(r.rounds, r.sides, r.each)
	}
	k := mat.NewSymDense(n, nil)
	before, counted := 0.0, 0 // what rounds left in the state, and how many of them
	for s, at := range r.rounds {
		for ; counted < at; counted++ {
			kept := r.kept(counted)
			before += kept * kept
		}
		whole, own := r.whole(s), math.Sqrt(r.variances[s])
		k.SetSym(s, s, (before+own*own)/(whole*whole))
		both := before + own*r.kept(at) // in a later observation is what this round left
		for t := s + 1; t < len(r.rounds); t++ {
			k.SetSym(s, t, both/(whole*r.whole(t)))
		}
	}
	return k
}

// kept is the standard deviation of what the noise of a round adds to every later observation.
func (r *reading) kept(round int) float64 {
	if r.c.Released() {
		return 0
	}
	return (1 - r.c.Beta) * r.moved[round]
}

// noise is the variance of the weighted scores: of a linear part, and of a precision times the
// point, which has twice the noise of its natural parameter on the diagonal.
func (r *reading) noise(k *mat.SymDense, weights []float64) []float64 {
	d := r.c.Weights()
	out := make([]float64, d)
	for s, a := range weights {
		for t, b := range weights {
			v := a * b * k.At(s, t)
			all := 0.0
			if r.c.Family == gauss.Full {
				all = floats.Dot(r.points[s], r.points[t])
			}
			for i := range out {
				own := r.points[s][i] * r.points[t][i]
				if r.c.PrecisionUnit > 0 {
					own = 0
				}
				if r.c.Family == gauss.Full {
					out[i] += v * (1 + all + 3*own)
				} else {
					out[i] += v * (1 + 4*own)
				}
			}
		}
	}
	return out
}

// curvature returns what is known of the whole curvature, and false if that is not all.
func (r *reading) curvature() (noiseaware.Curvature, bool) {
	d := r.c.Weights()
	if r.c.Family == gauss.Full {
		n := len(r.points)
		k := r.covariance()
		out := noiseaware.Curvature{Matrix: mat.NewSymDense(d, nil)}
		for s := range n {
			p := spaceOf(r.c).Precision(r.naturals[s])
			p.ScaleSym(1/float64(n), p)
			out.Matrix.AddSym(out.Matrix, p)
		}
		out.SD = math.Sqrt(mat.Sum(k)) / float64(n)
		return out, true
	}
	out := noiseaware.Curvature{Matrix: mat.NewSymDense(d, nil)}
	at, total := 0, 0.0
	for i := range d {
		for j := i; j < d; j++ {
			if r.counts == nil || r.counts[at] == 0 {
				return out, false
			}
			v := r.entries[at] / r.counts[at]
			total += r.entryVar[at] / (r.counts[at] * r.counts[at])
			if i != j {
				v /= math.Sqrt2
			}
			out.Matrix.SetSym(i, j, v)
			at++
		}
	}
	out.SD = math.Sqrt(total/float64(at)/2 + r.missing(out.Matrix))
	return out, true
}
