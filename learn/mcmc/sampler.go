package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/pvi"
)

// Sampler is a way of drawing from a posterior by noisy sums. Its methods are functions of
// their arguments. raw is a public state, as Initial and Fold return it.
type Sampler interface {
	// Initial is the state before round 1.
	Initial() []int64
	// Query is what the next round asks of every record. Errors: ErrShape.
	Query(raw []int64) (Query, error)
	// Fold is the state after a round, where sum is the revealed total of the parties'
	// answers and of the noise in units of 2^-FracBits, length Config.Dim. Rounds are counted
	// in the state. Errors: ErrShape, ErrOverflow.
	Fold(round int, raw, sum []int64) ([]int64, error)
	// Posterior is what the rounds so far show about the weights. Errors: ErrShape.
	Posterior(raw []int64) (*Posterior, error)
}

// Posterior is a sampler's result.
type Posterior struct {
	Mean       []float64
	Covariance *mat.SymDense
	// Weights and Variance, with Trace, have the means and variances of single weights. Variances count by
	// how much the mean is shorter than the Gaussian posterior's, and predictions do not. Predictions have a
	// narrower prior where records are few.
	Weights, Variance []float64
	// Swamped and Rare, with Trace, report that the mean was drawn to less than half of its length
	// because of its errors, and that the noise hides how rare one of the classes is.
	Swamped, Rare bool
	// Draws are the kept draws, or with Trace draws from the Gaussian that predicts: by draw, then chain.
	// There are none before the method's first rounds; Mean and Covariance are then the
	// place of the search and the prior's.
	Draws            [][]float64
	Chains           int
	Tested, Accepted int64 // proposals
}

// mover is a method's part of a sampler, after the stages.
type mover interface {
	query(g *geometry, s *state) (Query, error)
	// fold may use public draws that follow from the sum.
	fold(g *geometry, s *state, sum []int64, after *coins) error
}

// New returns the sampler of a configuration. Errors: ErrConfig.
func New(cfg Config, public Public) (Sampler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !(public.Variance >= 0) || math.IsInf(public.Variance, 0) {
		return nil, fmt.Errorf("%w: the noise's variance is %v", ErrConfig, public.Variance)
	}
	if cfg.Clip == 0 {
		cfg.Clip = cfg.fitting(public.Variance)
	}
	b := &base{cfg: cfg, public: public}
	switch cfg.Method {
	case Trace:
		b.move = trace{b}
	case Langevin:
		b.move = langevin{b}
	case HMC:
		b.move = hmc{b}
	default:
		b.move = walk{b}
	}
	g := geometry{bound: cfg.bound(), norm: cfg.norm()}
	if w, ok := b.move.(walk); ok && cfg.Method == Barker && w.variance(&g, w.step(&g)) > barkerVariance {
		return nil, fmt.Errorf("%w: step is %v: its noise has a variance of %.3g, want at most 2 with method "+
			`"barker"`, ErrConfig, cfg.Step, w.variance(&g, cfg.Step))
	}
	return b, nil
}

// base has the stages that all methods share.
type base struct {
	cfg    Config
	public Public
	move   mover
}

// geometry is what a round derives from the sums of the first stage.
type geometry struct {
	factor triangle // F F' = Temper X'X/4 + prior, about
	bound  float64
	norm   float64 // a record's root mean square norm in the coordinates phi, with Trace; others: at most
	// products is Temper X'X/4 with noise, whose standard deviation on a diagonal entry is doubt; nil
	// without rounds of it.
	products []float64
	doubt    float64
}

// unit converts a sum of gradients to the coordinates phi.
func (g *geometry) unit() float64 { return math.Ldexp(g.bound, -FracBits) }

// noise is the standard deviation of all parties' noise on a gradient of the tempered log
// posterior, in the coordinates phi, and on a log ratio by unit of step.
func (b *base) noise(g *geometry) float64 {
	return float64(b.cfg.Temper*float64(g.unit()*math.Sqrt(b.public.Variance))) / b.cfg.SampleRate
}

func (b *base) geometry(s *state) *geometry {
	c := b.cfg
	rounds := min(int(*s.folded), c.ScaleRounds)
	d := c.Features
	var a, products []float64
	noise := 0.0
	if rounds == 0 {
		a = make([]float64, d*d)
		mean := float64(c.Records) * float64(c.Radius*c.Radius) / float64(4*d)
		for i := range d {
			a[i*d+i] = float64(c.Temper * mean)
		}
	} else {
		r := float64(intRadius())
		unit := float64(c.Temper*float64(c.Radius*c.Radius)) / float64(4*float64(r*r)) / float64(rounds)
		a = unpack(s.gram, d, unit)
		products = a
		noise = float64(unit*math.Sqrt(float64(rounds)*b.public.Variance)) / onDiagonal
	}
	g := &geometry{factor: firm(a, d, c.PriorPrecision, noise), bound: c.bound(), norm: c.norm(),
		products: products, doubt: noise}
	if c.Method == Trace && products != nil {
		short := g.length()
		g.norm *= short
		g.bound *= short
	}
	return g
}

// length is the root mean square norm of a record in phi over Config.norm, which supposes the metric of the
// products alone: what makes a noisy metric definite makes records shorter. With M the metric's inverse its
// square is tr(M A)/d for the products A without noise. For a noise E whose entries have the variance v, v/2
// off the diagonal, E tr(M E) is -v/2 E((tr M)^2 + tr M^2) by Stein's identity, which is put back.
func (g *geometry) length() float64 {
	d := g.factor.d
	sum, trace, square := 0.0, 0.0, 0.0
	row := make([]float64, d)
	for i := range d {
		clear(row)
		row[i] = 1
		g.factor.solve(row)
		g.factor.solveT(row)
		sum += dot(row, g.products[i*d:(i+1)*d])
		trace += row[i]
		square += dot(row, row)
	}
	sum += float64(float64(g.doubt*g.doubt)/2) * (float64(trace*trace) + square)
	return math.Sqrt(min(1, max(leastSquare, sum/float64(d))))
}

// leastSquare keeps noise from taking away all of a record's square.
const leastSquare = 0.1

// Initial implements Sampler.
func (b *base) Initial() []int64 { return make([]int64, b.cfg.stateDim()) }

// Query implements Sampler.
func (b *base) Query(raw []int64) (Query, error) {
	s, err := b.cfg.open(raw)
	if err != nil {
		return Query{}, err
	}
	return b.ask(s)
}

func (b *base) ask(s *state) (Query, error) {
	st, _ := b.cfg.stageOf(*s.folded)
	if st == scaling {
		return Query{kind: products, bound: b.cfg.Radius}, nil
	}
	g := b.geometry(s)
	at := [][]float64{reals(s.theta[0])}
	even := 0.0
	if b.cfg.Method == Trace {
		even = g.bound
	}
	switch st {
	case locating:
		return Query{kind: gradient, factor: g.factor, from: at, bound: g.bound, even: even}, nil
	case bending, rebending:
		return Query{kind: curvature, factor: g.factor, from: at, bound: g.curvatureBound(), even: even}, nil
	}
	return b.move.query(g, s)
}

// curvatureBound is the norm to which sqrt(p(1-p)) z is cut, times the root of the weight (Query.even). The
// weighted product of a record of mean norm is at most half of the clip, or a quarter.
func (g *geometry) curvatureBound() float64 {
	return float64(g.norm * math.Sqrt(min(0.49, g.bound/float64(2*g.norm))))
}

// Fold implements Sampler.
func (b *base) Fold(round int, raw, sum []int64) ([]int64, error) {
	c := b.cfg
	if round < 1 || round > pvi.MaxRounds || len(sum) != c.Dim() {
		return nil, fmt.Errorf("fold of round %d: %w", round, ErrShape)
	}
	s, err := c.open(append([]int64(nil), raw...))
	if err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	st, done := c.stageOf(*s.folded)
	switch st {
	case scaling:
		err = accumulate(s.gram, sum)
	case locating:
		err = b.locate(s, sum)
	case bending, rebending:
		if st == rebending && done == 0 {
			clear(s.curve)
			clear(s.first)
			clear(s.second)
		}
		copy(s.bent, s.theta[0])
		err = accumulate(s.curve, sum)
	default:
		err = b.test(s, sum)
	}
	if err != nil {
		return nil, fmt.Errorf("fold of round %d: %w", round, err)
	}
	// Both rounds of a pair of Trace have steps by the same draws.
	if c.Method != Trace || st != warming && st != sampling || done%2 == 1 {
		next := sumsHash(s.sums).after(sum)
		copy(s.sums, next[:])
	}
	*s.folded++
	if st == sampling && c.Method != Trace {
		c.keep(s)
	}
	return s.raw, nil
}

// test is the method's part of Fold.
func (b *base) test(s *state, sum []int64) error {
	after, err := b.public.coinsOf(deciding, *s.folded, sumsHash(s.sums).after(sum))
	if err != nil {
		return err
	}
	return b.move.fold(b.geometry(s), s, sum, after)
}

// pace is the distance in phi, of about a posterior standard deviation, over which the noise
// of a single round may carry the search.
const pace = 4

// far is the root mean square of the coordinates in phi of weights that give the records' logits a standard
// deviation of 2, in the metric of the products alone. Noise must not carry a search beyond: there
// probabilities are 0 or 1, and gradients tell little.
func (b *base) far() float64 {
	return math.Sqrt(float64(b.cfg.Temper*float64(b.cfg.Records)) / float64(b.cfg.Features))
}

// locate takes a step of Newton's method with the curvature's upper bound, which the
// coordinates have as their metric; shorter ones where the noise is large.
func (b *base) locate(s *state, sum []int64) error {
	g := b.geometry(s)
	theta := reals(s.theta[0])
	step := b.gradient(g, theta, sum)
	noise := b.noise(g) + 0x1p-20
	wide := b.far() / float64(noise*math.Sqrt(float64(b.cfg.LocateRounds)))
	scale(step, min(1, max(min(0.25, wide), pace/noise)))
	g.factor.solveT(step)
	add(theta, 1, step)
	for _, chain := range s.theta {
		if err := put(chain, theta); err != nil {
			return err
		}
	}
	return nil
}

// gradient is the noisy gradient of the tempered log posterior in the coordinates phi.
func (b *base) gradient(g *geometry, theta []float64, sum []int64) []float64 {
	v := append([]float64(nil), theta...)
	g.factor.solve(v)
	scale(v, -b.cfg.PriorPrecision)
	for i := range v {
		v[i] += float64(float64(b.cfg.Temper*g.unit()) * float64(sum[i]))
	}
	return v
}

// moved returns theta after a step in the coordinates phi.
func (g *geometry) moved(theta, step []float64, length float64) []float64 {
	v := append([]float64(nil), step...)
	g.factor.solveT(v)
	scale(v, length)
	add(v, 1, theta)
	return v
}

// logPrior is the log prior density up to a constant.
func (c Config) logPrior(theta []float64) float64 {
	return -float64(c.PriorPrecision*dot(theta, theta)) / 2
}
