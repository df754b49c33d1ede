package stats

import (
	"fmt"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// Mechanism returns what a round of either kind releases: the sum over all parties, with
// joint noise.
func (c Config) Mechanism() (pvi.Mechanism, error) {
	if err := c.Validate(); err != nil {
		return pvi.Mechanism{}, err
	}
	return pvi.Mechanism{Clip: c.termBound(), Sensitivity: c.sensitivity(), Dim: c.Dim(), Steps: 1,
		PerParty: c.perParty()}, nil
}

// Predictive is Posterior with the model that predicts from it. Before the first statistics it is the
// prior. Errors: ErrShape, gauss.ErrImproper.
func (c Config) Predictive(raw []int64, noise float64) (*bayes.Posterior, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	like := pvi.Config{
		Model: bayes.Linear, Family: gauss.Full, Strategy: pvi.Dataset{}, Features: c.Features,
		PriorPrecision: c.PriorPrecision, PrecisionFloor: c.PriorPrecision, FracBits: 16,
		DampingBits: 16, Damping: 1, NoiseSD: c.NoiseSD,
	}
	p := c.nothing(0)
	if s.targets.rounds+s.residual.rounds > 0 {
		if p, err = c.Posterior(raw, noise); err != nil {
			return nil, err
		}
	}
	natural, err := p.natural()
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	like.NoiseSD = p.NoiseSD
	return like.PosteriorAt(natural)
}
