package dataset

import (
	"fmt"
	"math"
)

// tailSkewness is the skewness from which a target has a long tail. That of a number whose logarithm is
// normal with a standard deviation of .72 is 3.
const tailSkewness = 3

// Skewness is the third standardised moment of values; 0 if they are all the same.
func Skewness(values []float64) float64 {
	n, mean := float64(len(values)), 0.0
	for _, v := range values {
		mean += v / n
	}
	square, cube := 0.0, 0.0
	for _, v := range values {
		square += (v - mean) * (v - mean) / n
		cube += (v - mean) * (v - mean) * (v - mean) / n
	}
	if s := cube / math.Pow(square, 1.5); !math.IsNaN(s) && !math.IsInf(s, 0) {
		return s
	}
	return 0
}

// LongTail warns of a target whose values have this skewness; "" if linear regression suits it.
func LongTail(target string, skewness float64) string {
	if math.Abs(skewness) < tailSkewness {
		return ""
	}
	return fmt.Sprintf("column %s: the target has a long tail (skewness %.3g), and linear regression takes it "+
		"for nearly normal around what the columns say: intervals can be wrong by a multiple. Write its logarithm "+
		"into the files and learn that, or mend the values if the largest are mistakes", target, skewness)
}
