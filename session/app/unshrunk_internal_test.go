package app

import (
	"math"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/stats"
	"choir/protocol"
)

// TestUnshrunk: without categories intervals don't lean on the prior's mean, and without noise they are the
// posterior's.
func TestUnshrunk(t *testing.T) {
	m := &gauss.Moments{Mean: []float64{1, 2}, Variance: []float64{0.2, 0.2}}
	q, err := bayes.Likelihood{Model: bayes.Logistic, Features: 2}.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test", Missing: dataset.Refuse,
		Unseen: dataset.Refuse, Target: dataset.Binary("ill", "no", "yes"),
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100)}}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	for noise, want := range map[protocol.Placement][]float64{
		protocol.NoiseParty: q.Unshrunk([]float64{0.5, 0.5}).SD(), protocol.NoiseNone: q.SD()} {
		got, err := centring{schema: once(canonical)}.aware(&protocol.Plan{Noise: noise}, nil, q, 0.5)
		if err != nil || !slices.Equal(got.SD(), want) {
			t.Errorf("noise %v: %v (%v), want %v", noise, got.SD(), err, want)
		}
	}
}

// TestStatisticsUnshrunk: weights of statistics that noise hides have the standard deviations of their own
// priors, which the bounds give.
func TestStatisticsUnshrunk(t *testing.T) {
	s := &Statistics{Statistics: stats.Config{Features: 3, PriorPrecision: 1, NoiseSD: 0.5,
		Bounds: []float64{1, 4}, Bound: 1, TargetBound: 2, Radius: 8, FracBits: 10, Records: 100, MaxRecords: 1000}}
	p := &protocol.Plan{Noise: protocol.NoiseParty, Variance: 1 << 60, Rounds: 1}
	r := Revealed{Round: 1, Counted: 3, Before: s.Model(p).Initial(), Sum: make([]int64, s.Statistics.Dim())}
	q, err := s.NoiseAware(p, []Revealed{r})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{2, 0.5, 2}
	for i, sd := range q.SD() {
		if math.Abs(sd-want[i]) > 1e-9 {
			t.Errorf("standard deviations %v, want %v", q.SD(), want)
		}
	}
}
