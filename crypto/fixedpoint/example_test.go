package fixedpoint_test

import (
	"errors"
	"fmt"
	"log"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// An update is rounded to a grid, clipped exactly on the integers, and mapped to the field. The sum of
// the field elements decodes to the sum of the updates.
func Example() {
	grid := fixedpoint.Grid{FracBits: 10}
	bound, err := grid.IntBound(1) // L2 norm 1
	if err != nil {
		log.Fatal(err)
	}
	sum := make(field.Vector, 2)
	for _, update := range [][]float64{{0.25, -0.5}, {3, 4}} {
		v, x := make([]int64, 2), make(field.Vector, 2)
		clipped, err := grid.RoundClip(v, update, bound)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v, clipped)
		if err := fixedpoint.ToField(x, v); err != nil {
			log.Fatal(err)
		}
		sum.Add(x)
	}
	total, reals := make([]int64, 2), make([]float64, 2)
	fixedpoint.FromField(total, sum)
	grid.Float(reals, total)
	fmt.Println(total, reals)
	// Output:
	// [256 -512] false
	// [614 819] true
	// [870 307] [0.849609375 0.2998046875]
}

// Check reports whether the sum of all contributions, noise included, fits the field.
func ExampleHeadroom_Check() {
	h := fixedpoint.Headroom{
		Parties: 1000, PerParty: 1 << 20, NoiseVariance: 1 << 40, Dim: 10_000, Rounds: 20, Paired: true,
	}
	fmt.Println(h.Check(), h.Tail())
	h.PerParty = 1 << 22
	fmt.Println(errors.Is(h.Check(), fixedpoint.ErrHeadroom))
	// Output:
	// <nil> 324303912
	// true
}
