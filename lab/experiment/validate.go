package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"choir/learn/bayes"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
)

// Bounds on what one machine is asked to demonstrate.
const (
	maxParties  = 1000
	maxComputes = 100
	MaxRounds   = 10_000
	maxShards   = 100_000
)

// Bounds on the clip: what the grids that session.GridFor chooses can carry.
const minClip, maxClip = 1e-6, 1e9

// Validate refuses settings that no demonstration can run with. Each error is
// of protocol.ClassInput and starts with the name of the setting.
func (d *Demo) Validate() error {
	for _, check := range []func() error{d.checkCounts, d.checkHonest, d.checkBudget, d.checkLearning} {
		if err := check(); err != nil {
			return protocol.Fail(protocol.ClassInput, "%w", err)
		}
	}
	return nil
}

func (d *Demo) checkCounts() error {
	for _, c := range []struct {
		name      string
		v, lo, hi int
		why       string
	}{
		{name: "parties", v: d.Parties, lo: 2, hi: maxParties, why: "distributed noise takes at least 2"},
		{name: "computes", v: d.Computes, lo: 2, hi: maxComputes,
			why: "one node alone would see every contribution"},
		{name: "rounds", v: d.Rounds, lo: 0, hi: MaxRounds},
		{name: "shards", v: d.Shards, lo: 0, hi: maxShards},
	} {
		if c.v >= c.lo && c.v <= c.hi {
			continue
		}
		if c.why != "" && c.v < c.lo {
			c.why = "; " + c.why
		} else {
			c.why = ""
		}
		return fmt.Errorf("%s: %d isn't in %d..%d%s", c.name, c.v, c.lo, c.hi, c.why)
	}
	return nil
}

// checkHonest: one party's noise must stay hidden from the colluders and one
// curious party, over the smallest set that may be revealed (Paper I, Theorem 1).
func (d *Demo) checkHonest() error {
	switch {
	case d.Colluders < 0 || d.Colluders >= d.Parties:
		return fmt.Errorf("colluders: %d isn't in 0..%d for %d parties", d.Colluders, d.Parties-1, d.Parties)
	case d.Dropouts < 0 || d.Dropouts >= d.Parties:
		return fmt.Errorf("dropouts: %d isn't in 0..%d for %d parties", d.Dropouts, d.Parties-1, d.Parties)
	}
	left := d.Parties - d.Dropouts - d.Colluders - 1
	if left >= 1 {
		return nil
	}
	names := "colluders, dropouts"
	if d.Dropouts == 0 {
		names = "colluders"
	} else if d.Colluders == 0 {
		names = "dropouts"
	}
	return fmt.Errorf("%s: parties - dropouts - colluders - 1 = %d - %d - %d - 1 = %d leaves no honest noise; "+
		"it must be at least 1",
		names, d.Parties, d.Dropouts, d.Colluders, left)
}

func (d *Demo) checkBudget() error {
	switch {
	case !(d.Epsilon > 0) || math.IsInf(d.Epsilon, 0):
		return fmt.Errorf("epsilon: %v isn't a positive number", d.Epsilon)
	case !(d.Delta > 0 && d.Delta < 1):
		return fmt.Errorf("delta: %v isn't between 0 and 1", d.Delta)
	case d.Clip != 0 && !(d.Clip >= minClip && d.Clip <= maxClip):
		return fmt.Errorf("clip: %v isn't in %g..%g, nor 0 for the default", d.Clip, minClip, maxClip)
	}
	return nil
}

func (d *Demo) checkLearning() error {
	switch m := d.method(); {
	case m != MethodPVI && m != MethodGlobal && m != MethodStatistics && m != MethodMCMC:
		return fmt.Errorf("method: %q isn't %q, %q, %q or %q", m, MethodPVI, MethodGlobal, MethodStatistics,
			MethodMCMC)
	case d.Sampler != "" && m != MethodMCMC:
		return fmt.Errorf("sampler: method %q has none; %q has", m, MethodMCMC)
	case d.Sampler != "" && !slices.Contains(mcmc.Methods(), d.Sampler):
		return fmt.Errorf("sampler: %q isn't one of %v", d.Sampler, mcmc.Methods())
	case m == MethodMCMC && d.Dropouts > 0:
		return fmt.Errorf("dropouts: method %q needs every party in every round: its noise is part of the "+
			"acceptance test, and its records of the posterior", m)
	case m == MethodMCMC && d.Model == bayes.Linear:
		return fmt.Errorf("model: method %q has %q alone; the posterior of linear regression is by method %q", m,
			bayes.Logistic, MethodStatistics)
	case (m == MethodGlobal || m == MethodMCMC) && d.Model != bayes.Logistic:
		return fmt.Errorf("model: method %q has %q alone", m, bayes.Logistic)
	case m == MethodStatistics && d.Model != bayes.Linear:
		return fmt.Errorf("model: method %q has %q alone", m, bayes.Linear)
	case m == MethodStatistics && d.Rounds == 1:
		return fmt.Errorf("rounds: method %q takes at least 2: one to find the columns' scales and one to learn", m)
	case m != MethodPVI:
		return nil
	case d.Model != bayes.Logistic && d.Model != bayes.Linear && d.Model != bayes.BNN:
		return fmt.Errorf("model: %q isn't %q, %q or %q", d.Model, bayes.Logistic, bayes.Linear, bayes.BNN)
	case d.Strategy != "" && d.Strategy != pvi.NameVirtual && d.Strategy != pvi.NameDataset &&
		d.Strategy != pvi.NameOptimisation:
		return fmt.Errorf("strategy: %q isn't %q, %q or %q", d.Strategy,
			pvi.NameVirtual, pvi.NameDataset, pvi.NameOptimisation)
	case d.Model == bayes.BNN && d.Strategy != "" && d.Strategy != pvi.NameOptimisation:
		return fmt.Errorf("strategy: model %q has %q alone", d.Model, pvi.NameOptimisation)
	case d.Model == bayes.Linear && d.Strategy == pvi.NameOptimisation:
		return fmt.Errorf("strategy: %q is for models %q and %q here", d.Strategy, bayes.Logistic, bayes.BNN)
	case cmp.Or(d.Strategy, d.defaultStrategy()) != pvi.NameVirtual && d.Shards > 1:
		return fmt.Errorf("shards: %d, but the %s strategy has one factor a party", d.Shards,
			cmp.Or(d.Strategy, d.defaultStrategy()))
	}
	return nil
}

// OutDir makes the folder for the files of a demonstration: path, which
// must be empty or not exist, or a fresh choir-out/<time> when path is empty.
func OutDir(path string, now time.Time) (string, error) {
	if path == "" {
		return freshDir(filepath.Join("choir-out", now.Format("20060102-150405")))
	}
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", protocol.Fail(protocol.ClassInput, "out: %w", err)
		}
	case err != nil:
		return "", protocol.Fail(protocol.ClassInput, "out: %w", err)
	case len(entries) > 0:
		return "", protocol.Fail(protocol.ClassInput, "out: %s isn't empty", path)
	}
	return path, nil
}

// freshDir makes a folder that didn't exist, numbered if need be.
func freshDir(base string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return "", protocol.Fail(protocol.ClassInput, "out: %w", err)
	}
	for i := range 1000 {
		path := base
		if i > 0 {
			path = fmt.Sprintf("%s-%d", base, i+1)
		}
		err := os.Mkdir(path, 0o755)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", protocol.Fail(protocol.ClassInput, "out: %w", err)
		}
	}
	return "", protocol.Fail(protocol.ClassInput, "out: %s and a thousand more exist", base)
}
