package pvi

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"choir/learn/gauss"
	"choir/learn/model"
)

// Model names the likelihood, as model.Lookup knows it.
type Model string

// The models.
const (
	Logistic Model = "logistic" // y in {0, 1}; mean-field only
	Linear   Model = "linear"   // Gaussian noise of known standard deviation
	BNN      Model = "bnn"      // y in {0, 1}; one hidden layer; mean-field only
	External Model = "external" // whatever a program of the party's own computes
)

// Limits of a configuration.
const (
	MaxFeatures = 1 << 16
	MaxShards   = 1 << 16
	MaxSteps    = model.MaxSteps
	MaxRounds   = 1 << 20
)

// maxFloor is the most that PrecisionFloor may be, in prior precisions.
const maxFloor = 1024

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad inference configuration")

// Config is everything public that determines a run besides the data and the noise.
// All members hold the same one; it belongs in the signed plan.
type Config struct {
	Model    Model        `json:"model"`
	Family   gauss.Family `json:"family"`
	Strategy Strategy     `json:"strategy"`
	Features int          `json:"features"` // columns of a record, the bias among them

	Shards int `json:"shards"` // parts of a party's data; 1 unless Virtual or Averaging
	// ShardPower p in [0, 2], with Virtual, deals the parts by size: Shards is what a
	// party with all the records would keep, and one with the public share w keeps
	// Shards w^p of them, rounded, at least 1. With 1 all shards everywhere have about as
	// many records; 0 gives every party Shards.
	ShardPower float64 `json:"shard_power,omitempty"`

	PriorPrecision float64 `json:"prior_precision"` // of every weight; taken to the nearest grid point
	NoiseSD        float64 `json:"noise_sd"`        // Linear: standard deviation of an observation; otherwise 0

	Parameters int `json:"parameters,omitempty"` // External: weights; otherwise 0

	Hidden  int `json:"hidden,omitempty"`  // BNN: units of the hidden layer; otherwise 0
	Samples int `json:"samples,omitempty"` // BNN: Monte-Carlo samples per record and step; otherwise 0
	// PriorSpread is BNN's half-width of the interval around 0 in which the prior's
	// means lie, one fixed public number for every weight: units that start alike
	// would stay alike. Otherwise 0, and so are the prior's means.
	PriorSpread float64 `json:"prior_spread,omitempty"`

	// Clip is the L2 bound C of one term, one norm over the whole vector: of a
	// shard's update in natural parameters, or of a record's gradient or statistic
	// (see Strategy). 0 means no clipping, for runs without noise.
	Clip float64 `json:"clip"`

	FracBits     uint8   `json:"frac_bits"`     // f: updates are multiples of 2^-f
	DampingBits  uint8   `json:"damping_bits"`  // D: damping is a multiple of 2^-D
	Damping      float64 `json:"damping"`       // a in (0, 1]: the damping of round 1
	DampingDecay float64 `json:"damping_decay"` // r >= 0: round s is damped by a / (1 + r (s-1))

	// Beta in [0, 1] ties the factor in the cavity to the public posterior: t =
	// (1-Beta) t_private + Beta w (q/prior). 0 is PVI; 1 is the averaged factor of
	// stochastic expectation propagation.
	Beta float64 `json:"beta"`

	Steps        int     `json:"steps"`         // optimiser steps per round; 0 where updates are in closed form
	LearningRate float64 `json:"learning_rate"` // the optimiser's rate; 0 where updates are in closed form

	Method // beyond Strategy and Clip, how privacy is won

	// PrecisionFloor is the least precision of the posterior, in (0, 1024
	// PriorPrecision]. PriorPrecision itself is the natural choice: both likelihoods
	// are log-concave, so their factors never take precision away, and only noise
	// leads below the prior. On the Adult data lower floors are clearly worse. A
	// higher one also holds directions that are mostly noise near the prior's mean,
	// which helped there under unevenly shared data; it is no posterior of the
	// model's any more.
	PrecisionFloor float64 `json:"precision_floor"`
}

// Validate names every field that is out of range or contradicts another.
func (c Config) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
	}
	c.checkShape(bad)
	c.checkMethod(bad)
	c.checkModel(bad)
	c.checkGrid(bad)
	return errors.Join(errs...)
}

type badField func(field string, value any, want string)

func (c Config) checkShape(bad badField) {
	if c.Family != gauss.MeanField && c.Family != gauss.Full {
		bad("family", c.Family, `"mean-field" or "full"`)
	}
	if c.Features < 1 || c.Features > MaxFeatures {
		bad("features", c.Features, fmt.Sprintf("1 to %d", MaxFeatures))
	}
	switch t, known := c.traits(); {
	case !known:
		bad("strategy", c.Strategy, "one of "+strategyNames())
	case t.sharded && (c.Shards < 1 || c.Shards > MaxShards):
		bad("shards", c.Shards, fmt.Sprintf("1 to %d", MaxShards))
	case !t.sharded && c.Shards != 1:
		bad("shards", c.Shards, "1 with strategy "+quoted(c.Strategy))
	}
	if c.ShardPower != 0 && (c.Strategy != Virtual || !(c.ShardPower > 0 && c.ShardPower <= 2)) {
		bad("shard_power", c.ShardPower, `0, or up to 2 with strategy "virtual"`)
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
		bad("precision_floor", c.PrecisionFloor, "positive and at most 1024 times prior_precision")
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
		bad("damping", c.Damping, "at least 2^-damping_bits")
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

// kind is the model; Validate has made sure that there is one.
func (c Config) kind() model.Kind {
	kind, _ := model.Lookup(string(c.Model))
	return kind
}

// settings is what a model needs to know of the configuration.
func (c Config) settings() model.Settings {
	return model.Settings{Family: c.Family, Features: c.Features, NoiseSD: c.NoiseSD, Parameters: c.Parameters, Hidden: c.Hidden, Samples: c.Samples, Spread: c.PriorSpread, StartSpread: c.StartSpread,
		Steps: c.Steps, LearningRate: c.LearningRate, Stepped: c.stepped(), Copies: c.copies(), Floor: c.PrecisionFloor, Natural: c.Optimiser == Natural}
}

// Weights is the number of Gaussian weights of the model: as many as Features for
// the regressions. It is 0 for a model that isn't there.
func (c Config) Weights() int {
	if kind, ok := model.Lookup(string(c.Model)); ok {
		return kind.Weights(c.settings())
	}
	return 0
}

// conjugate tells whether local updates are exact in closed form whatever the
// cavity is.
func (c Config) conjugate() bool { return c.Model == Linear && c.Family == gauss.Full }
