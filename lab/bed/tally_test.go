package bed

import (
	"math"
	"slices"
	"testing"

	"choir/lab/study"
	"choir/learn/global"
	"choir/privacy"
	"choir/session/app"
)

// TestTally: the noise of a secure sum is what its budget asks for, over every transport.
// The mean square of n = 2000 numbers over 4 parties' variance has the relative standard
// deviation sqrt(2/n) = .032; six of them make a false alarm rarer than 1e-8. A
// sum without noise to speak of is the sum.
func TestTally(t *testing.T) {
	const n, bound = 2000, 1 << 16
	for _, over := range []study.Transport{Clear, study.Memory} {
		a := Tally{Name: "tally", Seed: 3, Sums: make([][]int64, 4), Bound: bound, PerParty: bound,
			Epsilon: 1, Delta: 1e-5, Transport: over}
		for i := range a.Sums {
			a.Sums[i] = make([]int64, n)
		}
		sum, spent, err := a.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		square := 0.0
		for _, v := range sum {
			square += float64(v) * float64(v) / n
		}
		mu, err := privacy.GaussianMu(1, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Pow(2*bound/mu, 2) * 4 / 3 // three of four parties' noise must hide a record
		if len(sum) != n || math.Abs(square/want-1) > 6*math.Sqrt(2./n) ||
			!(spent.Epsilon > 0.999 && spent.Epsilon <= 1) {
			t.Errorf("%s: mean square %g for %g, %+v", over, square, want, spent)
		}
		a.Epsilon = 1e5 // a standard deviation of some hundred units
		for i := range a.Sums {
			a.Sums[i][i] = bound
		}
		if sum, _, err = a.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, v := range sum[:5] {
			if d := float64(v); i < 4 && math.Abs(d-bound) > bound/4 || i == 4 && math.Abs(d) > bound/4 {
				t.Errorf("%s: sum %v", over, sum[:5])
			}
		}
	}
	if _, _, err := (Tally{Name: "none", Epsilon: 1, Delta: 1e-5}).Do(t.Context()); err == nil {
		t.Error("a sum of nothing was taken")
	}
}

// TestTogether: runs that share a budget spend it together, with and without sampling, and
// a run that has it for itself does not leave any.
func TestTogether(t *testing.T) {
	schema, parts := data(t, 4)
	for name, app := range map[string]app.Spec{"virtual": virtual(schema, 4),
		"global": &app.GlobalVI{Version: 1, Schema: schema,
			Global: global.Config{Model: "logistic", Features: 5, PriorPrecision: 1, InitialSD: 0.5,
				Clip: 2, FracBits: 19,
				SampleRate: 0.3, Records: 300, MaxRecords: 300, Optimiser: global.Adam, LearningRate: 0.05}}} {
		var all []*Outcome
		for seed := range 3 {
			o, err := Run{Name: name, Seed: uint64(seed), App: app, Parts: parts, Rounds: 4, Of: 3,
				Epsilon: 1, Delta: 1e-5}.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		s, err := Together(name, all)
		if err != nil || !(s.Epsilon > 0.99 && s.Epsilon <= 1) || !(all[0].Spent.Epsilon < 0.7) {
			t.Errorf("three of three: %+v of %+v, %v", s, all[0].Spent, err)
		}
		if s, err := Together(name, append(all, all[0])); err != nil || !(s.Epsilon > 1) {
			t.Errorf("four of three: %+v, %v", s, err)
		}
		if !slices.Equal(all[0].Plan.Parameters, all[1].Plan.Parameters) {
			t.Error("equal runs differ")
		}
	}
	if _, err := Together("nothing", nil); err == nil {
		t.Error("nothing was accounted for")
	}
}
