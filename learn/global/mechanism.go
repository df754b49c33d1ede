package global

import (
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// Mechanism returns what a round releases: the sum of the drawn records' gradients over all
// parties, with joint noise.
func (c Config) Mechanism() (pvi.Mechanism, error) {
	if err := c.Validate(); err != nil {
		return pvi.Mechanism{}, err
	}
	m := pvi.Mechanism{Dim: c.Dim(), Steps: 1}
	if c.SampleRate < 1 {
		m.Sampling, m.SampleRate = pvi.SamplingPoisson, c.SampleRate
	}
	var err error
	if m.Clip, err = c.intClip(); err != nil {
		return m, err
	}
	if m.Sensitivity, err = c.sensitivity(); err != nil {
		return m, err
	}
	m.PerParty, err = c.perParty()
	return m, err
}

// Posterior returns the posterior in a public state, with the model that predicts from it.
func (c Config) Posterior(raw []int64) (*bayes.Posterior, error) {
	mean, sd, err := c.moments(raw)
	if err != nil {
		return nil, err
	}
	natural := make([]float64, 0, 2*len(mean))
	for i, m := range mean {
		natural = append(natural, m/(sd[i]*sd[i]))
	}
	for _, s := range sd {
		natural = append(natural, -0.5/(s*s))
	}
	return c.inference().PosteriorAt(natural)
}

// inference returns the same model as a configuration of package pvi, for predictions.
func (c Config) inference() pvi.Config {
	like := pvi.Config{
		Model: c.Model, Family: gauss.MeanField, Features: c.Features, Hidden: c.Hidden, Samples: c.Samples,
		Strategy:       pvi.Dataset{Fit: pvi.Fit{Steps: 1, LearningRate: 1}},
		PriorPrecision: c.PriorPrecision, PrecisionFloor: c.PriorPrecision,
		FracBits: 16, DampingBits: 16, Damping: 1,
	}
	if c.InitialSpread != 0 { // a network starts there; predictions do not depend on it
		like.StartPrecision, like.StartSpread = 1, c.InitialSpread
	}
	return like
}
