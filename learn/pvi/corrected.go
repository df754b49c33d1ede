package pvi

import (
	"errors"
	"fmt"

	"choir/learn/bayes"
)

// ErrUncorrected: no posterior that counts the privacy noise is known for the method.
var ErrUncorrected = errors.New("no correction for the privacy noise is known")

// Corrected returns an error with ErrUncorrected in its chain if package reading has no posterior that counts
// the privacy noise for the configuration, or nil.
func (c Config) Corrected() error {
	if why := c.uncorrected(); why != "" {
		return fmt.Errorf("%w: %s", ErrUncorrected, why)
	}
	return nil
}

// uncorrected is why no posterior counts the noise; empty if one does.
func (c Config) uncorrected() string {
	p := c.params()
	switch {
	case c.Model == bayes.BNN || c.Model == bayes.External:
		return "the model is not linear in its weights"
	case c.Climbs(), c.name() == NameAnalytic && p.Sampling == SamplingNone:
		return ""
	case c.name() == NameOptimisation || c.name() == NameHybrid:
		return fmt.Sprintf(`strategy %q with another optimiser than "natural"`, c.name())
	case c.name() == NameAnalytic:
		return fmt.Sprintf("strategy %q with samples of records", c.name())
	case !c.traits().sharded && c.name() != NameDataset && c.name() != NamePerturbation:
		return fmt.Sprintf("strategy %q", c.name())
	case c.Factors == FactorsNoisy && !p.Local:
		return "noise in private factors"
	case c.newton():
		return ""
	case c.Model == bayes.Logistic && (p.Optimiser != Natural || p.LearningRate != 1),
		c.Model == bayes.Logistic && c.name() == NameAveraging && p.Steps > 1: // the second is at its own point
		return "local optimiser steps that may stop before the optimum"
	}
	return ""
}

// Climbs reports whether parties take noisy natural-gradient steps.
func (c Config) Climbs() bool {
	return (c.name() == NameOptimisation || c.name() == NameHybrid) && c.params().Optimiser == Natural
}
