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
