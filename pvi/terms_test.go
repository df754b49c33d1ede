package pvi

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
)

// TestTermsAreTheDenseOnes: leaving zeros out changes no integer.
func TestTermsAreTheDenseOnes(t *testing.T) {
	grid := fixedpoint.Grid{FracBits: 12}
	rapid.Check(t, func(t *rapid.T) {
		clip := rapid.SampledFrom([]float64{0, 0.5, 3, 1e4}).Draw(t, "clip")
		bound := uint64(clip * (1 << 12))
		terms, sum, want := NewTerms(grid, clip, bound), make([]int64, 9), make([]int64, 9)
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			v := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-50, 50)), 9, 9).Draw(t, "v")
			cut, err := terms.Add(sum, v)
			if err != nil {
				t.Fatal(err)
			}
			units, dense := make([]int64, 9), false
			if clip > 0 {
				dense = fixedpoint.ClipReal(v, clip)
			}
			if err := grid.Round(units, v); err != nil {
				t.Fatal(err)
			}
			if clip > 0 {
				dense = fixedpoint.ClipInt(units, bound) || dense
			}
			for i, x := range units {
				want[i] += x
			}
			if cut != dense || !slices.Equal(sum, want) {
				t.Fatalf("%v, clipped %v; want %v, %v", sum, cut, want, dense)
			}
		}
	})
}

// TestTermsRefuse: what can't be added leaves the sum alone.
func TestTermsRefuse(t *testing.T) {
	grid := fixedpoint.Grid{FracBits: 12}
	for name, v := range map[string][]float64{"not a number": {0, math.NaN(), 1}, "infinite": {1, 0, math.Inf(1)}, "too large": {1, 0, 1e30}} {
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
