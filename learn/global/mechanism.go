package global

import (
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// Mechanism is what a round releases: the sum of the drawn records' gradients over all
// parties, noised jointly.
func (c Config) Mechanism() (pvi.Mechanism, error) {
	if err := c.Validate(); err != nil {
		return pvi.Mechanism{}, err
	}
	m := pvi.Mechanism{Dim: c.Dim(), Steps: 1}
	if c.SampleRate < 1 {
		m.Sampling, m.SampleRate = pvi.SamplingPoisson, c.SampleRate
	}
	var err error
	if m.Clip, err = c.IntClip(); err != nil {
		return m, err
	}
	if m.Sensitivity, err = c.Sensitivity(); err != nil {
		return m, err
	}
	m.PerParty, err = c.PerParty()
	return m, err
}

// Posterior is the posterior in a public state, with the model that predicts from it.
func (c Config) Posterior(raw []int64) (*pvi.Posterior, error) {
	mean, sd, err := c.Moments(raw)
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

// inference is the same model as a configuration of package pvi, which predicts.
func (c Config) inference() pvi.Config {
	return pvi.Config{Model: c.Model, Family: gauss.MeanField, Strategy: pvi.Dataset, Features: c.Features, Hidden: c.Hidden, Samples: c.Samples, Shards: 1, PriorPrecision: c.PriorPrecision,
		PrecisionFloor: c.PriorPrecision, FracBits: 16, DampingBits: 16, Damping: 1, Steps: 1, LearningRate: 1, Method: c.start()}
}

// start says to package pvi where a network begins, which has no part in predictions.
func (c Config) start() pvi.Method {
	if c.InitialSpread == 0 {
		return pvi.Method{}
	}
	return pvi.Method{StartPrecision: 1, StartSpread: c.InitialSpread}
}
