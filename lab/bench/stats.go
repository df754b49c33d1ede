package bench

import "slices"

// medianOf is the middle of the values, the upper one of two.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[len(v)/2]
}
