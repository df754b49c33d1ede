package model

import (
	"fmt"

	"choir/learn/gauss"
)

// maxParameters bounds the weights of a model that is computed elsewhere.
const maxParameters = 1 << 20

// elsewhere is a shard of a model that a program computes: only its size is known here.
type elsewhere int

// Rows is the number of records.
func (e elsewhere) Rows() int { return int(e) }

// Update moves nothing; package pvi never calls it.
func (elsewhere) Update(_ *Workspace, dst, _, _ []float64) { clear(dst) }

func externalKind() Kind {
	return Kind{
		External: true,
		Check: func(s Settings, bad BadField) {
			if s.Parameters < 1 || s.Parameters > maxParameters ||
				(s.Family == gauss.Full && s.Parameters > 1<<10) {
				bad("parameters", s.Parameters, fmt.Sprintf("1 to %d, or to %d with full covariance",
					maxParameters, 1<<10))
			}
			for _, f := range []struct {
				name  string
				value any
				zero  bool
			}{
				{"noise_sd", s.NoiseSD, s.NoiseSD == 0}, {"hidden", s.Hidden, s.Hidden == 0},
				{"samples", s.Samples, s.Samples == 0},
				{"steps", s.Steps, s.Steps == 0}, {"learning_rate", s.LearningRate, s.LearningRate == 0},
			} {
				if !f.zero {
					bad(f.name, f.value, `0 with model "external"`)
				}
			}
			if !(s.Spread >= 0 && s.Spread <= MaxSpread) {
				bad("prior_spread", s.Spread, fmt.Sprintf("in [0, %d]", MaxSpread))
			}
		},
		Weights: func(s Settings) int { return s.Parameters },
		Site:    func(_ Settings, _, y []float64) Site { return elsewhere(len(y)) },
	}
}
