package field_test

import (
	"fmt"

	"choir/crypto/field"
)

// Integers are added modulo p in the signed representation, so that a sum of negative and positive
// integers is recovered.
func ExampleVector_SetSigned() {
	sum, v := make(field.Vector, 3), make(field.Vector, 3)
	for _, update := range [][]int64{{5, -7, 0}, {-20, 3, 1}} {
		if n := v.SetSigned(update); n < len(update) {
			fmt.Printf("integer %d is out of range\n", n)
		}
		sum.Add(v)
	}
	for _, e := range sum {
		fmt.Println(uint64(e), e.Int64())
	}
	// Output:
	// 18446744069414584306 -15
	// 18446744069414584317 -4
	// 1 1
}

// An encoding that is not canonical is rejected, and the destination is unchanged.
func ExampleDecodeVector() {
	v := make(field.Vector, 2)
	encoded := field.AppendVector(nil, field.Vector{1, 2})
	fmt.Println(field.DecodeVector(v, encoded), v)

	copy(encoded[8:], []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) // p
	fmt.Println(field.DecodeVector(v, encoded), v)
	// Output:
	// <nil> [1 2]
	// field: non-canonical element: index 1 of 2 [1 2]
}
