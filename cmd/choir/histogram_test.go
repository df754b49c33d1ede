package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/response"
)

// TestShuffledHistogramIsThatOfTheReports: over NATS, what each back end counts is the histogram of the
// reports.
func TestShuffledHistogramIsThatOfTheReports(t *testing.T) {
	for _, c := range []struct {
		backend                       string
		parties, computes, categories int
		gamma                         float64
	}{{"sum", 2, 2, 2, 0.9}, {"sum", 7, 3, 5, 0.3}, {"sum", 12, 2, 9, 0.6}, {"mix", 2, 2, 2, 0.9},
		{"mix", 9, 3, 60_000, 0.3}} {
		x, err := response.New(c.categories, c.gamma)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.NewChaCha8([32]byte{byte(c.parties)})
		values := make([]float64, c.parties)
		for i := range values {
			values[i] = float64(i % c.categories)
		}
		f := &histogramFlags{categories: c.categories, computes: c.computes, transport: "nats",
			backend: c.backend}
		reports, err := f.report(x, values, random)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int64, c.categories)
		for _, y := range reports {
			want[y]++
		}
		got, _, err := f.count(t.Context(), x, reports)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: the sum is %v, the reports' histogram %v", c, got, want)
		}
	}
}
