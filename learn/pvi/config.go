package pvi

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// Limits of a configuration.
const (
	MaxShards = 1 << 16
	maxSteps  = model.MaxSteps
	MaxRounds = 1 << 20
)

// maxFloor is the largest PrecisionFloor, in prior precisions.
const maxFloor = 0x1p24

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad inference configuration")

// Config is everything public that determines a run, other than the data and the noise.
// All members have the same one, as part of the signed plan.
type Config struct {
	Model    bayes.Model
	Family   gauss.Family
	Strategy Strategy
	Features int // columns of a record, including the bias

	PriorPrecision float64 // of every weight; rounded to the nearest grid point
	NoiseSD        float64 // Linear: standard deviation of an observation; otherwise 0

	Parameters int // External: number of weights; otherwise 0

	Hidden  int // BNN: units of the hidden layer; otherwise 0
	Samples int // BNN: Monte-Carlo samples per record and step; otherwise 0
	// PriorSpread is BNN's half-width of the interval around 0 that contains the prior's
	// means, one fixed public number for every weight: units with equal starting points
	// would stay equal. Otherwise 0, and so are the prior's means.
	PriorSpread float64

	// Clip is the L2 bound C of one term, one norm over the whole vector: of a shard's
	// update in natural parameters, or of a record's gradient or statistic (see
	// Strategy). 0 means no clipping, for runs without noise.
	Clip float64

	FracBits     uint8   // f: updates are multiples of 2^-f
	DampingBits  uint8   // D: damping is a multiple of 2^-D
	Damping      float64 // a in (0, 1]: the damping of round 1
	DampingDecay float64 // r >= 0: the damping of round s is a / (1 + r (s-1))

	// Beta in [0, 1] ties the factor in the cavity to the public posterior: t =
	// (1-Beta) t_private + Beta w (q/prior). 0 is PVI; 1 is the averaged factor of
	// stochastic expectation propagation.
	Beta float64
	// PrecisionUnit, if above 0, makes a term of linear regression with Beta 1 the score at the public
	// posterior's mean, in the place of a linear part, and this multiple of its precision; see toScores.
	PrecisionUnit float64
	// ClipHalvings is how often such terms have their clip halved, in equal parts of the rounds before
	// CurvatureFrom: steps are long where residuals are, and noise is small near the end.
	ClipHalvings int
	// Factors is what a private factor includes. Empty is the default of the strategy:
	// FactorsNoisy where each party's own update is released, otherwise FactorsTied with
	// Beta above 0 and FactorsPrivate without.
	Factors Factors

	// StartPrecision is what all factors together start with: this precision for every
	// weight, around 0, of which a party has its public share (NewLearner's weight). A
	// public guess of the posterior's precision saves the rounds in which noise dominates.
	// 0 is the start of PVI, the prior.
	StartPrecision float64
	// StartSpread is the half-width of the interval around 0 that contains the means of
	// what the factors start with, one fixed public number for every weight. Units of a
	// network with equal starting points would stay equal; StartPrecision determines how
	// firmly they are kept there. Otherwise 0.
	StartSpread float64

	// UpdateClip bounds, in L2, the whole update that a party sends with local noise, so
	// that sums have headroom. It is post-processing and costs no privacy. 0 means
	// defaultUpdateClip; without local noise it is 0.
	UpdateClip float64

	// PrecisionFloor is the least precision of the posterior, in (0, 2^24
	// PriorPrecision]. PriorPrecision itself is the natural choice: both likelihoods are
	// log-concave, so their factors never reduce precision, and only noise leads below
	// the prior. On the Adult data lower floors are clearly worse. A higher one also
	// keeps directions that are mostly noise near the prior's mean, which helped there
	// under unevenly shared data; the result is no longer a posterior of the model.
	PrecisionFloor float64

	// CurvatureFrom is the first of the rounds, up to the last, that reveal the curvature of
	// the log-likelihood at the final posterior in the place of learning, so that package reading
	// knows the correlations between the weights. 0: none do.
	CurvatureFrom int
	// CurvatureBound is the L2 norm of a shard's slice of the curvature that becomes Clip.
	CurvatureBound float64
	// ResidualFrom is the first of the last rounds of linear regression that sum squares of residuals at
	// the weights that package reading finds, or at the public mean with Newton, by which it measures
	// the noise of an observation. 0: none do.
	ResidualFrom int
	// StepBound, with Newton, is the L2 bound on a party's step in the weights after the first
	// rounds; otherwise 0. That of the first rounds is 2^StepDoublings times as much, and every
	// RoundsOfBound rounds halve it.
	StepBound     float64
	StepDoublings int
	// StepKept, with Newton, is the share of a step's slope that StepBound is expected to keep near the true
	// weights, in [2^-10, 1]; otherwise 0.
	StepKept float64

	spare spare // of a party's own configuration
}

// Validate returns an error that names every field that is out of range or contradicts
// another, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
	}
	c.checkShape(bad)
	c.checkStrategy(bad)
	c.checkModel(bad)
	c.checkStart(bad)
	c.checkGrid(bad)
	c.checkCurvature(bad)
	c.checkNewton(bad)
	c.checkResidual(bad)
	c.checkScores(bad)
	return errors.Join(errs...)
}

type badField func(field string, value any, want string)

func (c Config) checkShape(bad badField) {
	if c.Family != gauss.MeanField && c.Family != gauss.Full {
		bad("family", c.Family, `"mean-field" or "full"`)
	}
	if c.Features < 1 || c.Features > bayes.MaxFeatures {
		bad("features", c.Features, fmt.Sprintf("1 to %d", bayes.MaxFeatures))
	}
}

func (c Config) checkStart(bad badField) {
	if v := math.Ldexp(c.StartPrecision, c.rawBits()); !(v == 0 || (v >= 1 && v < 1<<60)) {
		bad("start_precision", c.StartPrecision,
			"0, or positive and representable on the grid 2^-(frac_bits+damping_bits)")
	}
	if c.StartSpread != 0 && !(c.StartSpread > 0 && c.StartSpread <= model.MaxSpread &&
		c.StartPrecision > 0) {
		bad("start_spread", c.StartSpread, fmt.Sprintf("0, or at most %d with a start_precision above 0",
			model.MaxSpread))
	}
}

func (c Config) checkModel(bad badField) {
	if kind, ok := model.Lookup(string(c.Model)); ok {
		kind.Check(c.settings(), model.BadField(bad))
	} else {
		bad("model", c.Model, "one of "+strings.Join(model.Names(), ", "))
	}
	if !(c.PriorPrecision > 0) || math.IsInf(c.PriorPrecision, 0) {
		bad("prior_precision", c.PriorPrecision, "positive and finite")
	}
	if !(c.PrecisionFloor > 0 && c.PrecisionFloor <= maxFloor*c.PriorPrecision) {
		bad("precision_floor", c.PrecisionFloor, "positive and at most 2^24 times prior_precision")
	}
	if !(c.Beta >= 0 && c.Beta <= 1) {
		bad("beta", c.Beta, "in [0, 1]")
	}
}

func (c Config) checkGrid(bad badField) {
	if c.FracBits < 1 || c.FracBits > 40 {
		bad("frac_bits", c.FracBits, "1 to 40")
	}
	if c.DampingBits > 24 {
		bad("damping_bits", c.DampingBits, "at most 24")
	}
	if !(c.Damping > 0 && c.Damping <= 1) {
		bad("damping", c.Damping, "in (0, 1]")
	} else if math.Ldexp(c.Damping, int(c.DampingBits)) < 1 {
		bad("damping", c.Damping, "at least 2^-damping_bits; too many rounds make the default as small: take fewer")
	}
	if !(c.DampingDecay >= 0) || math.IsInf(c.DampingDecay, 0) {
		bad("damping_decay", c.DampingDecay, "at least 0 and finite")
	}
	if !(c.Clip >= 0) || math.IsInf(c.Clip, 0) {
		bad("clip", c.Clip, "at least 0 and finite")
	} else if b, err := c.clipUnits(); c.Clip > 0 && (err != nil || b == 0) {
		bad("clip", c.Clip, "at least 2^-frac_bits and below 2^(62-frac_bits)")
	}
	if v := math.Ldexp(c.PriorSpread*c.PriorPrecision, c.rawBits()); !(math.Abs(v) < 1<<60) {
		bad("prior_spread", c.PriorSpread, "representable on the grid 2^-(frac_bits+damping_bits)")
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"prior_precision", c.PriorPrecision}, {"precision_floor", c.PrecisionFloor}} {
		if v := math.Ldexp(p.value/2, c.rawBits()); p.value > 0 && !(v >= 1 && v < 1<<60) {
			bad(p.name, p.value, "representable on the grid 2^-(frac_bits+damping_bits)")
		}
	}
}

// kind returns the model; Validate has made sure that it exists.
func (c Config) kind() model.Kind {
	kind, _ := model.Lookup(string(c.Model))
	return kind
}

// settings returns the part of the configuration that a model needs.
func (c Config) settings() model.Settings {
	p := c.params()
	return model.Settings{
		Family: c.Family, Features: c.Features, NoiseSD: c.NoiseSD, Parameters: c.Parameters,
		Hidden: c.Hidden, Samples: c.Samples, Spread: c.PriorSpread, StartSpread: c.StartSpread,
		Steps: p.Steps, LearningRate: p.LearningRate, Stepped: c.stepped(), Copies: c.copies(),
		Floor: c.PrecisionFloor, Natural: p.Optimiser == Natural,
	}
}

// Weights returns the number of Gaussian weights of the model: Features for the
// regressions, 0 for an unknown model.
func (c Config) Weights() int {
	if kind, ok := model.Lookup(string(c.Model)); ok {
		return kind.Weights(c.settings())
	}
	return 0
}
