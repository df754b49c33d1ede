package defaults

import (
	"choir/learn/pvi"
)

// Rounds of the methods that learn from bare sums.
const (
	GlobalRounds        = 200
	NaturalGlobalRounds = 50
	StatisticsRounds    = 10
)

// RoundsOf is the number of rounds of a strategy for which nothing else follows from the plan.
func RoundsOf(name pvi.StrategyName) int {
	switch name {
	case pvi.NameBCMSame, pvi.NameBCMSplit:
		return 1
	}
	return leastRounds
}

// Optimisation are settings of DP optimisation.
type Optimisation struct {
	Steps          int
	Optimiser      pvi.Optimiser
	LearningRate   float64
	SampleRate     float64
	Clip           float64
	SDUnit         float64
	Damping        float64
	DampingDecay   float64
	StartPrecision float64
	StartSpread    float64
	PrecisionFloor float64
	Hidden         int
	Samples        int
}

// Optimisation is the setting for noisy natural-gradient steps over a logistic regression,
// or for stochastic gradient steps over a network.
func (f Facts) Optimisation(network bool) Optimisation {
	o := Optimisation{Steps: 5, Optimiser: pvi.Natural, LearningRate: 0.1, SampleRate: 0.1,
		Clip: 0.1, SDUnit: 20, Damping: 0.5, DampingDecay: 0.1, StartPrecision: 300, PrecisionFloor: 100}
	if network {
		o = Optimisation{Steps: 5, Optimiser: pvi.SGD, LearningRate: 3e-4, SampleRate: 0.1,
			Clip: 4, SDUnit: 0.1, Damping: 0.3, DampingDecay: 0.05, StartPrecision: 200, StartSpread: 0.3,
			PrecisionFloor: 1, Hidden: 20, Samples: 2}
	}
	return o
}

// Once is the setting for a committee, whose only round has to go most of the way.
func (o Optimisation) Once() Optimisation {
	o.Steps *= 4
	o.Damping = 1
	o.DampingDecay = 0
	return o
}
