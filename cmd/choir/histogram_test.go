package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/response"
)

// TestShuffledHistogramIsThatOfTheReports: the secure sum over NATS is the histogram of the reports, bit for
// bit.
func TestShuffledHistogramIsThatOfTheReports(t *testing.T) {
	for _, c := range []struct {
		parties, computes, categories int
		gamma                         float64
	}{{2, 2, 2, 0.9}, {7, 3, 5, 0.3}, {12, 2, 9, 0.6}} {
		x, err := response.New(c.categories, c.gamma)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.NewChaCha8([32]byte{byte(c.parties)})
		values := make([]float64, c.parties)
		for i := range values {
			values[i] = float64(i % c.categories)
		}
		f := &histogramFlags{categories: c.categories, computes: c.computes, transport: "nats"}
		reports, err := f.report(x, values, random)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int64, c.categories)
		for _, y := range reports {
			want[y]++
		}
		got, err := f.count(t.Context(), x, reports)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Units, want) {
			t.Errorf("%+v: the sum is %v, the reports' histogram %v", c, got.Units, want)
		}
	}
}
