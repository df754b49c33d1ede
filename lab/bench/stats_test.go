package bench

import (
	"math"
	"testing"

	"choir/protocol"
)

// TestMannWhitney against values of the exact distribution: with 4 and 4 values, 2 of
// the 70 arrangements are as extreme as complete separation, 4 as one inversion;
// with 7 and 7 it is 2 of 3432.
func TestMannWhitney(t *testing.T) {
	low, high := []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{low, high, 2.0 / 70}, {high, low, 2.0 / 70},
		{[]float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4.0 / 70},
		{low, low, 1},
		{[]float64{1, 2, 3, 4, 5, 6, 7}, []float64{8, 9, 10, 11, 12, 13, 14}, 2.0 / 3432},
		{nil, low, 1},
	} {
		if got := mannWhitney(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v against %v: p = %g, want %g", c.a, c.b, got, c.want)
		}
	}
}

// TestRankSums: the counts of U for three and two values, written out by hand.
func TestRankSums(t *testing.T) {
	want := []float64{1, 1, 2, 2, 2, 1, 1}
	for k, w := range rankSums(3, 2) {
		if w != want[k] {
			t.Fatalf("U = %d: %g ways, want %g", k, w, want[k])
		}
	}
}

// TestCompare: a case that costs half as much again is named, one that varies isn't,
// and neither is one that got faster.
func TestCompare(t *testing.T) {
	values := func(scale float64) (v []float64) {
		for i := range 8 {
			v = append(v, scale*(1+0.01*float64((i*5)%8)))
		}
		return v
	}
	before := &Baseline{Header: Header{SchemaVersion: SchemaVersion}, Costs: []CaseCosts{{"a", values(1)}, {"b", values(1)}, {"c", values(1)}, {"d", values(1)}, {"gone", values(1)}}}
	now := &Baseline{Header: Header{SchemaVersion: SchemaVersion}, Costs: []CaseCosts{{"a", values(1.5)}, {"b", values(1.02)}, {"c", values(0.5)}, {"d", values(1.15)}, {"new", values(9)}}}
	c, err := Compare(before, now, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "slower", "b": "same", "c": "faster", "d": "same", "new": "new", "gone": "gone"}
	for _, d := range c.Changes {
		if d.Verdict != want[d.Name] {
			t.Errorf("%s is %s, want %s (p = %g, ratio %g)", d.Name, d.Verdict, want[d.Name], d.P, d.Ratio)
		}
	}
	if len(c.Changes) != len(want) || len(c.Slower) != 1 || protocol.ClassOf(c.Err()) != protocol.ClassFailed {
		t.Errorf("%d changes, slower: %v, %v", len(c.Changes), c.Slower, c.Err())
	}
	if same, err := Compare(before, before, 0.2); err != nil || same.Err() != nil {
		t.Errorf("a run is slower than itself: %v %v", err, same.Err())
	}
	if _, err := Compare(&Baseline{}, now, 0.2); err == nil {
		t.Error("an empty baseline was taken")
	}
	if _, err := Compare(before, now, math.NaN()); err == nil {
		t.Error("a threshold that is no number was taken")
	}
}

// TestExponent: a cost of 3 x^2 has slope 2.
func TestExponent(t *testing.T) {
	var p []ScalePoint
	for _, x := range []int{2, 4, 8, 16} {
		p = append(p, ScalePoint{Over: "dim", X: x, CPURound: 3 * float64(x*x)})
	}
	if got := exponent(p, "dim", func(p ScalePoint) float64 { return p.CPURound }); math.Abs(got-2) > 1e-12 {
		t.Errorf("slope %g, want 2", got)
	}
	if got := exponent(p[:1], "dim", func(p ScalePoint) float64 { return p.CPURound }); got != 0 {
		t.Errorf("one point has the slope %g", got)
	}
}
