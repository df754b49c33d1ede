package model

import (
	"fmt"
	"math"

	"choir/learn/gauss"
)

// Settings are the public numbers that determine a likelihood. Config of package pvi has
// them under the same names.
type Settings struct {
	Family       gauss.Family
	Features     int     // columns of a record, the bias among them
	NoiseSD      float64 // of an observation
	Parameters   int     // weights of a model that is computed elsewhere
	Hidden       int     // units of the hidden layer
	Samples      int     // Monte-Carlo samples of the hidden layer, per record and step
	Spread       float64 // half-width of the interval that the prior's means lie in
	StartSpread  float64 // the same of what the factors begin with
	Steps        int     // of the local optimiser, per update
	LearningRate float64
	// Stepped: a strategy works on single records and checks Steps and LearningRate;
	// Update is not called.
	Stepped bool
	Copies  int     // how many times Update counts the data; 0 is once. Only a Tempered kind honours it
	Floor   float64 // least precision of the posterior, above 0
	Natural bool    // Update takes natural-gradient steps. Only a Natural kind honours it
}

// Kind is one model, as package pvi and predictions use it. To add a model, write its Site
// and its Predictor in this folder and add a row to Lookup.
type Kind struct {
	// Binary: targets are 0 or 1; otherwise they are any finite number.
	Binary bool
	// Tempered: Update honours Copies, which local averaging needs.
	Tempered bool
	// Natural: Update can take natural-gradient steps.
	Natural bool
	// PerRecord: the mean-field Site is a PerRecord.
	PerRecord bool
	// External: a program of the party computes the updates and predicts. Site has only a
	// size, and there is no Predictor.
	External bool
	// Check calls bad for every setting of the model that is out of range. Family, Features
	// and Floor are valid already.
	Check func(s Settings, bad BadField)
	// Weights is the number of Gaussian weights.
	Weights func(s Settings) int
	// Site makes a shard ready; x is row-major, Features numbers for each of y.
	Site func(s Settings, x, y []float64) Site
	// Predictor is the posterior predictive distribution under the posterior m.
	Predictor func(s Settings, m *gauss.Moments) Predictor
}

// BadField receives a setting that is out of range, by its name in JSON.
type BadField func(field string, value any, want string)

// Lookup finds a model by name.
func Lookup(name string) (Kind, bool) {
	switch name {
	case "logistic":
		return logisticKind(), true
	case "linear":
		return linearKind(), true
	case "bnn":
		return networkKind(), true
	case "external":
		return externalKind(), true
	}
	return Kind{}, false
}

// Names lists the names for Lookup, for messages.
func Names() []string { return []string{"logistic", "linear", "bnn", "external"} }

func logisticKind() Kind {
	return Kind{
		Binary: true, Tempered: true, Natural: true, PerRecord: true,
		Check: func(s Settings, bad BadField) {
			checkMeanField("logistic", s, bad)
			checkFlat("logistic", s, bad)
			checkSteps(s, bad)
		},
		Weights: func(s Settings) int { return s.Features },
		Site: func(s Settings, x, y []float64) Site {
			l := NewLogistic(s.Features, x, y, s.Steps, s.LearningRate)
			l.copies = float64(max(s.Copies, 1))
			if s.Natural {
				l.floor = s.Floor
			}
			return l
		},
		Predictor: func(_ Settings, m *gauss.Moments) Predictor { return logisticPredictor{m} },
	}
}

func linearKind() Kind {
	return Kind{
		Tempered: true,
		Check: func(s Settings, bad BadField) {
			if !(s.NoiseSD > 0) || math.IsInf(s.NoiseSD, 0) {
				bad("noise_sd", s.NoiseSD, "positive and finite")
			}
			if s.Steps != 0 && !s.Stepped {
				bad("steps", s.Steps, `0 with model "linear"`)
			}
			if s.LearningRate != 0 && !s.Stepped {
				bad("learning_rate", s.LearningRate, `0 with model "linear"`)
			}
			checkFlat("linear", s, bad)
		},
		Weights: func(s Settings) int { return s.Features },
		Site: func(s Settings, x, y []float64) Site {
			// n copies of a record are equivalent to one whose noise is sqrt(n) times
			// smaller.
			noise := s.NoiseSD / math.Sqrt(float64(max(s.Copies, 1)))
			space := gauss.Space{Family: s.Family, Features: s.Features}
			if s.Stepped {
				return newLinearRecords(space, x, y, noise, s.Floor)
			}
			return newLinear(space, x, y, noise, s.Floor)
		},
		Predictor: func(s Settings, m *gauss.Moments) Predictor { return linearPredictor{m, s.NoiseSD} },
	}
}

// MaxSteps bounds the optimiser steps of one update.
const MaxSteps = 1 << 20

func checkMeanField(name string, s Settings, bad BadField) {
	if s.Family == gauss.Full {
		bad("family", s.Family, fmt.Sprintf("%q with model %q", gauss.MeanField, name))
	}
	if s.NoiseSD != 0 {
		bad("noise_sd", s.NoiseSD, fmt.Sprintf("0 with model %q", name))
	}
}

// checkFlat rejects settings that only a hidden layer has.
func checkFlat(name string, s Settings, bad BadField) {
	want := fmt.Sprintf("0 with model %q", name)
	if s.Hidden != 0 {
		bad("hidden", s.Hidden, want)
	}
	if s.Samples != 0 {
		bad("samples", s.Samples, want)
	}
	if s.Spread != 0 {
		bad("prior_spread", s.Spread, want)
	}
	checkOwn(name, s, bad)
}

// checkOwn rejects settings that only an external model has.
func checkOwn(name string, s Settings, bad BadField) {
	if s.Parameters != 0 {
		bad("parameters", s.Parameters, fmt.Sprintf("0 with model %q", name))
	}
}

func checkSteps(s Settings, bad BadField) {
	if s.Stepped {
		return
	}
	if s.Steps < 1 || s.Steps > MaxSteps {
		bad("steps", s.Steps, fmt.Sprintf("1 to %d", MaxSteps))
	}
	if !(s.LearningRate > 0 && s.LearningRate <= 1) {
		bad("learning_rate", s.LearningRate, "in (0, 1]")
	}
}
