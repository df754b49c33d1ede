package run_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"choir/session/run"
)

// Three parties sum their rows. The two compute nodes add shares; the aggregator
// learns the sum and no row.
func ExampleRowSum() {
	sum := run.RowSum{Rows: 3, Cols: 2, Data: []float64{1.5, 2, 3, 4, 0.25, -1}, Computes: 2, FracBits: 8}
	r, err := sum.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, units := range r.Units {
		fmt.Println(math.Ldexp(float64(units), -int(r.FracBits)))
	}
	// Output:
	// 4.75
	// 5
}

// Three parties send numbers of a continuous scale through the mix-net of two compute nodes. The
// aggregator learns the numbers, and nobody whose they are. Parties whose numbers need protection
// randomise them first.
func ExampleRowSum_mix() {
	shuffled := run.RowSum{Rows: 3, Cols: 1, Data: []float64{0.75, 0.125, 0.5}, Computes: 2, FracBits: 20,
		Mix: true}
	r, err := shuffled.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, report := range r.Reports {
		fmt.Println(math.Ldexp(float64(report[0]), -int(r.FracBits)))
	}
	// Unordered output:
	// 0.125
	// 0.5
	// 0.75
}
