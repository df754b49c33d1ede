package pvi

import (
	"errors"
	"fmt"

	"choir/learn/gauss"
	"choir/learn/model"
)

// Likelihood is the part of a configuration that predictions depend on, besides the
// posterior. The fields are those of Config.
type Likelihood struct {
	Model      Model        `json:"model"`
	Family     gauss.Family `json:"family"`
	Features   int          `json:"features"`
	NoiseSD    float64      `json:"noise_sd,omitempty"`
	Hidden     int          `json:"hidden,omitempty"`
	Parameters int          `json:"parameters,omitempty"`
}

// Likelihood is what the posterior predicts by.
func (p *Posterior) Likelihood() Likelihood {
	c := p.cfg
	return Likelihood{Model: c.Model, Family: c.Family, Features: c.Features, NoiseSD: c.NoiseSD,
		Hidden: c.Hidden, Parameters: c.Parameters}
}

// Posterior returns the posterior with the given natural parameters under the likelihood,
// for instance one that was exported. It predicts; how it was learnt is not recorded.
// Errors: ErrConfig, ErrShape, gauss.ErrImproper.
func (l Likelihood) Posterior(natural []float64) (*Posterior, error) {
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	c := l.config()
	if len(natural) != c.Dim() {
		return nil, fmt.Errorf("posterior: %d natural parameters, want %d: %w", len(natural), c.Dim(),
			ErrShape)
	}
	return c.posterior(append([]float64(nil), natural...))
}

func (l Likelihood) config() Config {
	return Config{Model: l.Model, Family: l.Family, Features: l.Features, NoiseSD: l.NoiseSD,
		Hidden: l.Hidden, Parameters: l.Parameters}
}

// validate checks the model's own fields, as Config.Validate does, without those of
// learning.
func (l Likelihood) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
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
	kind.Check(l.config().settings(), func(field string, value any, want string) {
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
	weights := l.config().Weights()
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
