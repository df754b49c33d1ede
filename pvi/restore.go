package pvi

import (
	"fmt"

	"choir/pvi/gauss"
)

// FromNatural is the posterior with the given natural parameters, of length Dim: a
// proper Gaussian that was exported, or won by another way than rounds. It keeps
// natural. Errors: the configuration's, ErrShape, gauss.ErrImproper.
func (c Config) FromNatural(natural []float64) (*Posterior, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(natural) != c.Dim() {
		return nil, fmt.Errorf("posterior: %d natural parameters, want %d: %w", len(natural), c.Dim(), ErrShape)
	}
	return c.posterior(natural, 0)
}

// Config is the configuration that the posterior was learnt with.
func (p *Posterior) Config() Config { return p.cfg }

// WeightNames names the model's weights, in order, after the encoded columns of the
// records.
func (c Config) WeightNames(columns []string) []string {
	if c.Model == BNN && len(columns) == c.Features {
		names := make([]string, 0, c.Weights())
		for u := range c.Hidden {
			for _, column := range columns {
				names = append(names, fmt.Sprintf("unit %d: %s", u+1, column))
			}
		}
		for u := range c.Hidden {
			names = append(names, fmt.Sprintf("output: unit %d", u+1))
		}
		return append(names, "output: bias")
	}
	if c.Weights() == len(columns) {
		return columns
	}
	names := make([]string, c.Weights())
	for i := range names {
		names[i] = fmt.Sprintf("weight %d", i+1)
	}
	return names
}

// Covariances tells whether the posterior has more than marginal variances.
func (p *Posterior) Covariances() bool { return p.cfg.Family == gauss.Full }
