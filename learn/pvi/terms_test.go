package pvi

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
)

// TestTermsAreTheDenseOnes: omitting zeros changes no unclipped integer, and a clipped one
// by little: the two clips aim at norms half a unit a coordinate apart, and each rounds.
// The integer bound holds exactly, for every record.
func TestTermsAreTheDenseOnes(t *testing.T) {
	grid := fixedpoint.Grid{FracBits: 12}
	cuts := 0
	rapid.Check(t, func(t *rapid.T) {
		clip := rapid.SampledFrom([]float64{0, 0.0004, 0.5, 3, 1e4}).Draw(t, "clip")
		bound, err := grid.IntBound(clip)
		if err != nil && clip > 0 {
			t.Fatal(err)
		}
		v := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-50, 50)), 9, 9).Draw(t, "v")
		sum, want := make([]int64, 9), make([]int64, 9)
		cut, err := NewTerms(grid, clip, bound).Add(sum, v)
		if err != nil {
			t.Fatal(err)
		}
		dense := clip > 0 && fixedpoint.ClipReal(v, clip)
		if err := grid.Round(want, v); err != nil {
			t.Fatal(err)
		}
		dense = clip > 0 && fixedpoint.ClipInt(want, bound) || dense
		if clip > 0 && !fixedpoint.NormSquaredAtMost(sum, bound) {
			t.Fatalf("%v is longer than %d", sum, bound)
		}
		if dense {
			cuts++
		}
		if !cut && !slices.Equal(sum, want) || dense && !cut {
			t.Fatalf("%v, clipped %v; want %v, %v", sum, cut, want, dense)
		}
		for i := range sum {
			if math.Abs(float64(sum[i]-want[i])) > 4 {
				t.Fatalf("%v, want about %v", sum, want)
			}
		}
	})
	if cuts == 0 {
		t.Error("nothing was cut")
	}
}

// TestTermsRefuse: a vector that cannot be added leaves the sum unchanged.
func TestTermsRefuse(t *testing.T) {
	grid := fixedpoint.Grid{FracBits: 12}
	for name, v := range map[string][]float64{"not a number": {0, math.NaN(), 1},
		"infinite": {1, 0, math.Inf(1)}, "too large": {1, 0, 1e30}} {
		sum := []int64{5, 6, 7}
		if _, err := NewTerms(grid, 0, 0).Add(sum, v); err == nil || !slices.Equal(sum, []int64{5, 6, 7}) {
			t.Errorf("%s: %v, %v", name, err, sum)
		}
	}
	sum := []int64{0, math.MaxInt64 - 1}
	if _, err := NewTerms(grid, 0, 0).Add(sum, []float64{1, 1}); err == nil || sum[0] != 0 {
		t.Errorf("an overflow: %v, %v", err, sum)
	}
}
