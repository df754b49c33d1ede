package global

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// Optimiser names the public step.
type Optimiser string

// The optimisers.
const (
	// Adam is the optimiser of [KB15], algorithm 1, with its constants.
	Adam Optimiser = "adam"
	// SGD is a plain step along the gradient.
	SGD Optimiser = "sgd"
	// Natural is steps along the natural gradient, which average the noise of many rounds:
	// round s moves the posterior LearningRate / (1 + RateDecay (s-1)) of the distance
	// towards the one of the round's sum. A record's gradient is measured in the
	// posterior's own units before it is clipped, so that neither a column's unit nor its
	// frequency decides what is clipped. It needs a tenth of Adam's rounds.
	Natural Optimiser = "natural"
)

// Limits of a configuration.
const (
	maxFeatures = bayes.MaxFeatures
	maxRecords  = 1 << 32
)

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad configuration of global inference")

// Config is everything public that determines a run, other than the data, the samples and
// the noise. All members have the same one, as part of the signed plan.
type Config struct {
	Model          bayes.Model `json:"model"`           // one with model.PerRecord
	Features       int         `json:"features"`        // columns of a record, including the bias
	PriorPrecision float64     `json:"prior_precision"` // of every weight, around 0
	// InitialSD is the posterior standard deviation of every weight before round 1. The
	// prior's is a slow start: the data's gradient by a log standard deviation decreases
	// with its square, and below the noise the optimiser cannot follow it.
	InitialSD float64 `json:"initial_sd"`
	// InitialSpread is the half-width of the interval around 0 in which the means lie
	// before round 1, one fixed public number for every weight: a network's units that
	// start equal would stay equal. 0 is means of 0.
	InitialSpread float64 `json:"initial_spread,omitempty"`

	Hidden  int `json:"hidden,omitempty"`  // the network's units; otherwise 0
	Samples int `json:"samples,omitempty"` // the network's Monte-Carlo samples per record; otherwise 0

	// Clip is the L2 bound C > 0 of one record's gradient in (mean, log sd), with Natural
	// in (mean/sd, log sd).
	Clip       float64 `json:"clip"`
	FracBits   uint8   `json:"frac_bits"`   // gradients are multiples of 2^-FracBits
	SampleRate float64 `json:"sample_rate"` // q in (0, 1]; 1 is every record

	// Records is the declared number of all parties' records. It scales the optimiser's
	// gradient; privacy does not depend on it.
	Records int64 `json:"records"`
	// maxRecords is the largest number of records of one party: it bounds the party's sum.
	// More are rejected.
	MaxRecords int64 `json:"max_records"`

	Optimiser    Optimiser `json:"optimiser"`
	LearningRate float64   `json:"learning_rate"` // of round 1, on the gradient divided by Records
	RateDecay    float64   `json:"rate_decay"`    // r >= 0: round s has the rate LearningRate / (1 + r (s-1))

	// SDUnit is the factor by which Natural multiplies a record's gradient by the log
	// standard deviations: a large one keeps noise out of the precisions. Otherwise 0;
	// with Natural 0 is 1.
	SDUnit float64 `json:"sd_unit,omitempty"`
	// PrecisionFloor is the least precision of the posterior with Natural, at least
	// PriorPrecision, the default for 0. It keeps directions that are mostly noise near 0.
	PrecisionFloor float64 `json:"precision_floor,omitempty"`

	// Averaging is 0 for the last iterate as the posterior, or the eta >= 1 of
	// polynomial-decay averaging ([SZ13], section 4): after round s the
	// average moves by (eta+1)/(s+eta) of the distance to the iterate, so that about the
	// last 1/(eta+1) of the rounds count. It is post-processing.
	Averaging float64 `json:"averaging"`

	// CurvatureFrom is the first of the rounds, up to the last, that reveal the curvature of
	// the log-likelihood in the place of learning, for NoiseAware. 0: none do.
	CurvatureFrom int `json:"curvature_from,omitempty"`
	// CurvatureBound is the L2 norm of a record's slice of the curvature that becomes Clip.
	CurvatureBound float64 `json:"curvature_bound,omitempty"`
}

// Validate names every field that is out of range or contradicts another.
func (c Config) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
	}
	c.checkModel(bad)
	c.checkSums(bad)
	c.checkSteps(bad)
	c.checkCurvature(bad)
	return errors.Join(errs...)
}

type badField func(field string, value any, want string)

func (c Config) checkModel(bad badField) {
	if c.Features < 1 || c.Features > maxFeatures {
		bad("features", c.Features, fmt.Sprintf("1 to %d", maxFeatures))
	} else if kind, ok := model.Lookup(string(c.Model)); !ok {
		bad("model", c.Model, "one of "+strings.Join(model.Names(), ", "))
	} else if !kind.PerRecord {
		bad("model", c.Model, "a model whose records can be taken one at a time")
	} else {
		kind.Check(c.settings(), model.BadField(bad))
	}
	if !(c.PriorPrecision >= 0x1p-20 && c.PriorPrecision <= 0x1p20) {
		bad("prior_precision", c.PriorPrecision, "2^-20 to 2^20")
	}
	if !(c.InitialSD >= 0x1p-20 && c.InitialSD <= 0x1p20) {
		bad("initial_sd", c.InitialSD, "2^-20 to 2^20")
	}
	if !(c.InitialSpread >= 0 && c.InitialSpread <= model.MaxSpread) {
		bad("initial_spread", c.InitialSpread, fmt.Sprintf("in [0, %d]", model.MaxSpread))
	}
}

// settings returns the model's part, without optimiser steps.
func (c Config) settings() model.Settings {
	return model.Settings{Family: gauss.MeanField, Features: c.Features, Hidden: c.Hidden, Samples: c.Samples,
		StartSpread: c.InitialSpread, Steps: 1, LearningRate: 1, Floor: c.PriorPrecision}
}

// weights returns the number of Gaussian weights of the model, 0 for an unknown one.
func (c Config) weights() int {
	if kind, ok := model.Lookup(string(c.Model)); ok {
		return kind.Weights(c.settings())
	}
	return 0
}

func (c Config) checkSums(bad badField) {
	if c.FracBits < 1 || c.FracBits > 40 {
		bad("frac_bits", c.FracBits, "1 to 40")
	}
	if b, err := c.grid().IntBound(c.Clip); !positive(c.Clip) || err != nil || b == 0 || b > 1<<40 {
		bad("clip", c.Clip, "at least 2^-frac_bits and at most 2^(40-frac_bits)")
	}
	if !(c.SampleRate >= 0x1p-40 && c.SampleRate <= 1) {
		bad("sample_rate", c.SampleRate, "2^-40 to 1")
	}
	if c.Records < 1 || c.Records > maxRecords {
		bad("records", c.Records, fmt.Sprintf("1 to %d", int64(maxRecords)))
	}
	if c.MaxRecords < 1 || c.MaxRecords > 1<<22 {
		bad("max_records", c.MaxRecords, "1 to 2^22")
	}
}

func (c Config) checkSteps(bad badField) {
	if c.Optimiser != Adam && c.Optimiser != SGD && c.Optimiser != Natural {
		bad("optimiser", c.Optimiser, `"adam", "sgd" or "natural"`)
	}
	c.checkNatural(bad)
	if !(c.LearningRate > 0 && c.LearningRate <= 1) {
		bad("learning_rate", c.LearningRate, "in (0, 1]")
	}
	if !(c.RateDecay >= 0 && c.RateDecay <= 1) {
		bad("rate_decay", c.RateDecay, "in [0, 1]")
	}
	if c.Averaging != 0 && !(c.Averaging >= 1 && c.Averaging <= 1000) {
		bad("averaging", c.Averaging, "0, or 1 to 1000")
	}
}

func (c Config) checkNatural(bad badField) {
	natural := c.Optimiser == Natural
	if c.SDUnit != 0 && !(natural && c.SDUnit >= 0x1p-20 && c.SDUnit <= 0x1p10) {
		bad("sd_unit", c.SDUnit, `0, or 2^-20 to 2^10 with optimiser "natural"`)
	}
	if c.PrecisionFloor != 0 && !(natural && c.PrecisionFloor >= c.PriorPrecision &&
		c.PrecisionFloor <= 0x1p24) {
		bad("precision_floor", c.PrecisionFloor, `0, or prior_precision to 2^24 with optimiser "natural"`)
	}
	if natural && !(c.InitialSD >= 0x1p-12) {
		bad("initial_sd", c.InitialSD, `at least 2^-12 with optimiser "natural"`)
	}
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

func (c Config) grid() fixedpoint.Grid { return fixedpoint.Grid{FracBits: c.FracBits} }

// Dim is the number of parameters, 2 Weights, and the length of a party's sum.
func (c Config) Dim() int { return 2 * c.weights() }

// intClip is B, the L2 bound of one record's gradient in units of 2^-FracBits.
func (c Config) intClip() (uint64, error) { return c.grid().IntBound(c.Clip) }

// sensitivity is 2B: it bounds the change, in L2 norm and in units of 2^-FracBits, of the
// sum over all records when one record is replaced by another, given everything public
// before the round. A record's gradient is a function of the record and the public state
// only, and its norm is at most B; the other records' gradients and draws do not change.
func (c Config) sensitivity() (uint64, error) {
	b, err := c.intClip()
	return 2 * b, err
}

// perParty bounds the L2 norm of one party's sum in units of 2^-FracBits: maxRecords
// gradients of norm B.
func (c Config) perParty() (uint64, error) {
	b, err := c.intClip()
	return uint64(c.MaxRecords) * b, err
}
