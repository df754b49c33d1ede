package pvi

import (
	"fmt"

	"choir/learn/bayes"
)

// Posterior returns the repaired global posterior of a raw state: public, like raw. Errors:
// bayes.ErrShape, gauss.ErrImproper.
func (c Config) Posterior(raw []int64) (*bayes.Posterior, error) {
	q, _, err := c.repair(raw)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	return c.posterior(c.Reals(q))
}

// PosteriorAt returns the proper Gaussian with the given natural parameters, laid out as in
// package gauss, for other ways of inference than this package's. Errors: ErrConfig,
// ErrShape, gauss.ErrImproper.
func (c Config) PosteriorAt(natural []float64) (*bayes.Posterior, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	if len(natural) != c.Dim() {
		return nil, fmt.Errorf("posterior: length %d, want %d: %w", len(natural), c.Dim(), bayes.ErrShape)
	}
	return c.posterior(append([]float64(nil), natural...))
}

func (c Config) posterior(natural []float64) (*bayes.Posterior, error) {
	return c.Likelihood().Posterior(natural)
}

// Likelihood is what the configuration's posteriors predict by.
func (c Config) Likelihood() bayes.Likelihood {
	return bayes.Likelihood{Model: c.Model, Family: c.Family, Features: c.Features, NoiseSD: c.NoiseSD,
		Hidden: c.Hidden, Parameters: c.Parameters}
}
