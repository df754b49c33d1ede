package app

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/stats"
	"choir/protocol"
)

// TestUntold: what no record tells of a category's levels has the prior's law in a posterior that counts the
// noise, and without noise the posterior is left as it is.
func TestUntold(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test", Missing: dataset.Refuse,
		Unseen: dataset.Refuse, Target: dataset.Binary("ill", "no", "yes"),
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100), dataset.Categorical("ward", "A", "B", "C")}}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	m := &gauss.Moments{Mean: []float64{1, 2, 1, 2, 3}, Variance: []float64{.01, .01, .01, .01, .01}}
	q, err := bayes.Likelihood{Model: bayes.Logistic, Features: 5}.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	shift := mat.NewVecDense(5, []float64{0, .5, .5, .5, -.5})
	for _, c := range []struct {
		noise          protocol.Placement
		mean, variance float64
	}{{protocol.NoiseParty, 0, 0.5}, {protocol.NoiseNone, 1, 0.01}} {
		got, err := centring{schema: once(canonical)}.aware(&protocol.Plan{Noise: c.noise}, nil, q, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		mean := mat.Dot(shift, mat.NewVecDense(5, got.Mean()))
		variance := mat.Inner(shift, got.Covariance(), shift)
		if math.Abs(mean-c.mean) > 1e-9 || math.Abs(variance-c.variance) > 1e-9 {
			t.Errorf("noise %v: mean %g, variance %g, want %g and %g", c.noise, mean, variance, c.mean, c.variance)
		}
	}
}

// TestStatisticsUntold: of a category's levels that noise hides, with priors of their own, the shift against
// the bias has the prior's variance given the rest, and the mean is the fit's.
func TestStatisticsUntold(t *testing.T) {
	s := &Statistics{Statistics: stats.Config{Levels: [][2]int{{1, 3}}}}
	// the precision of (0, 1, 1, -1)/sqrt(3) given the rest: (1/2 + 1/2 + 1/8)/3
	if got := s.untold([]float64{9, 2, 2, 8}); math.Abs(got-3/1.125) > 1e-12 {
		t.Errorf("variance %g, want %g", got, 3/1.125)
	}
	if got := (&Statistics{}).untold([]float64{9, 8}); got != 0 {
		t.Errorf("variance %g without categories", got)
	}
}
