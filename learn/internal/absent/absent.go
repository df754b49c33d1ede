// Package absent marks numbers that are missing in an encoded record. A missing number is encoded as -0: it
// counts as 0, the column's public centre, in all arithmetic, and learning that measures where columns lie
// can tell it from a number that is there, which is never -0.
package absent

import "math"

// Number is what a missing number is encoded as.
func Number() float64 { return math.Copysign(0, -1) }

// Is reports whether an encoded number is missing.
func Is(x float64) bool { return x == 0 && math.Signbit(x) }

// Present is an encoded number that is there.
func Present(x float64) float64 { return x + 0 } // -0 + 0 is 0
