package bench

import "slices"

// medianOf is the middle of the values, the upper one of two.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[len(v)/2]
}

// quartiles are the first quartile, the median and the third quartile, interpolated linearly between
// the values; nil for fewer than two.
func quartiles(v []float64) []float64 {
	if len(v) < 2 {
		return nil
	}
	sorted, out := slices.Sorted(slices.Values(v)), make([]float64, 3)
	for i := range out {
		at := float64((i+1)*(len(v)-1)) / 4
		k := min(int(at), len(v)-2)
		out[i] = sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
	}
	return out
}
