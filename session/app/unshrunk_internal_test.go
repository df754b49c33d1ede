package app

import (
	"math"
	"slices"
	"testing"

	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/protocol"
)

// TestUnshrunk: intervals go by each weight's own prior, as noisy statistics have, or by one for all, and
// without noise they are the posterior's.
func TestUnshrunk(t *testing.T) {
	m := &gauss.Moments{Mean: []float64{1, 2}, Variance: []float64{0.2, 0.2}}
	q, err := pvi.Likelihood{Model: pvi.Logistic, Features: 2}.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	noisy := &protocol.Plan{Noise: protocol.NoiseParty}
	for _, tc := range []struct {
		plan  *protocol.Plan
		prior []float64
	}{{noisy, []float64{1}}, {noisy, []float64{1, 0.25}}} {
		each := tc.prior
		if len(each) == 1 {
			each = []float64{1, 1}
		}
		if got, want := unshrunk(tc.plan, q, tc.prior...).SD(), q.Unshrunk(each).SD(); !slices.Equal(got, want) {
			t.Errorf("prior %v: %v, want %v", tc.prior, got, want)
		}
	}
	if got := unshrunk(&protocol.Plan{Noise: protocol.NoiseNone}, q, 1).SD(); !slices.Equal(got, q.SD()) {
		t.Errorf("%v without noise, want %v", got, q.SD())
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
