package bayes

import (
	"errors"
	"fmt"
	"slices"

	"choir/learn/gauss"
	"choir/learn/model"
)

// Errors that callers decide on.
var (
	// ErrLikelihood is in the chain of every error about a likelihood that there isn't.
	ErrLikelihood = errors.New("bad likelihood")
	// ErrShape: a vector has the wrong length.
	ErrShape = errors.New("vector has the wrong length")
)

// Model names the likelihood, as model.Lookup knows it.
type Model string

// The models.
const (
	Logistic Model = "logistic" // y in {0, 1}; mean-field only
	Linear   Model = "linear"   // Gaussian noise of known standard deviation
	BNN      Model = "bnn"      // y in {0, 1}; one hidden layer; mean-field only
	External Model = "external" // computed by a program of the party
)

// MaxFeatures is the largest number of columns of a record.
const MaxFeatures = 1 << 16

// Likelihood is what predictions depend on, besides the posterior.
type Likelihood struct {
	Model      Model        `json:"model"`
	Family     gauss.Family `json:"family"`
	Features   int          `json:"features"`             // columns of a record, including the bias
	NoiseSD    float64      `json:"noise_sd,omitempty"`   // Linear: standard deviation of an observation
	Hidden     int          `json:"hidden,omitempty"`     // BNN: units of the hidden layer
	Parameters int          `json:"parameters,omitempty"` // External: number of weights
}

// Likelihood is what the posterior predicts by.
func (p *Posterior) Likelihood() Likelihood { return p.of }

// Posterior returns the posterior with the given natural parameters under the likelihood,
// for instance one that was exported. It predicts; how it was learnt is not recorded.
// Errors: ErrLikelihood, ErrShape, gauss.ErrImproper.
func (l Likelihood) Posterior(natural []float64) (*Posterior, error) {
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	if len(natural) != l.Dim() {
		return nil, fmt.Errorf("posterior: %d natural parameters, want %d: %w", len(natural), l.Dim(),
			ErrShape)
	}
	natural = slices.Clone(natural)
	m, err := l.space().Moments(natural)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	return &Posterior{of: l, natural: natural, moments: m}, nil
}

// With returns the posterior with the moments under the likelihood, in the full family if they
// have a covariance, with these means and variances of single weights, and for Rare. Errors:
// gauss.ErrImproper.
func (l Likelihood) With(m, single *gauss.Moments, rare bool) (*Posterior, error) {
	l.Family = gauss.MeanField
	if m.Covariance != nil {
		l.Family = gauss.Full
	}
	natural, err := l.space().Natural(m)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	return &Posterior{of: l, natural: natural, moments: m, single: single, rare: rare}, nil
}

// Weights returns the number of Gaussian weights: Features for the regressions, 0 for an unknown model.
func (l Likelihood) Weights() int {
	if kind, ok := model.Lookup(string(l.Model)); ok {
		return kind.Weights(l.settings())
	}
	return 0
}

// Dim returns the number of natural parameters.
func (l Likelihood) Dim() int { return l.space().Dim() }

func (l Likelihood) space() gauss.Space {
	return gauss.Space{Family: l.Family, Features: l.Weights()}
}

func (l Likelihood) kind() model.Kind {
	kind, _ := model.Lookup(string(l.Model))
	return kind
}

// settings is the part of the likelihood that a model needs.
func (l Likelihood) settings() model.Settings {
	return model.Settings{Family: l.Family, Features: l.Features, NoiseSD: l.NoiseSD, Parameters: l.Parameters,
		Hidden: l.Hidden}
}

// validate checks the fields, without those of learning that a model has.
func (l Likelihood) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrLikelihood, field, value, want))
	}
	kind, ok := model.Lookup(string(l.Model))
	if !ok {
		bad("model", l.Model, "a model")
		return errors.Join(errs...)
	}
	if l.Family != gauss.MeanField && l.Family != gauss.Full {
		bad("family", l.Family, `"mean-field" or "full"`)
	}
	if l.Features < 1 || l.Features > MaxFeatures {
		bad("features", l.Features, fmt.Sprintf("1 to %d", MaxFeatures))
	}
	kind.Check(l.settings(), func(field string, value any, want string) {
		// A noise-aware posterior of a regression is in the full family.
		if field == "family" && l.Model == Logistic {
			return
		}
		switch field {
		case "family", "noise_sd", "hidden", "parameters":
			bad(field, value, want)
		}
	})
	return errors.Join(errs...)
}

// WeightNames names the model's weights, in order, after the encoded columns of the
// records.
func (l Likelihood) WeightNames(columns []string) []string {
	weights := l.Weights()
	switch {
	case l.Model == BNN && len(columns) == l.Features:
		return networkNames(l.Hidden, columns)
	case weights == len(columns):
		return columns
	}
	names := make([]string, weights)
	for i := range names {
		names[i] = fmt.Sprintf("weight %d", i+1)
	}
	return names
}

func networkNames(hidden int, columns []string) []string {
	var names []string
	for u := range hidden {
		for _, column := range columns {
			names = append(names, fmt.Sprintf("unit %d: %s", u+1, column))
		}
	}
	for u := range hidden {
		names = append(names, fmt.Sprintf("output: unit %d", u+1))
	}
	return append(names, "output: bias")
}
