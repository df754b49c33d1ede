package ellipse

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStep: of two standard normal numbers, given that their sum was measured as 2 with an error of variance
// 1, the mean of each is 2/3 and its variance 2/3. Of 20,000 steps, about one in three of which counts as a
// draw of its own, the mean has a standard error of .01 and the variance of .012: five of them are exceeded
// once in a million runs.
func TestStep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	weight := func(y []float64) float64 { return -(y[0] + y[1] - 2) * (y[0] + y[1] - 2) / 2 }
	y, other, next := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	at := weight(y)
	const steps = 20_000
	var sum, square float64
	for range steps {
		other[0], other[1] = r.NormFloat64(), r.NormFloat64()
		at = Step(y, other, next, at, weight, r.Float64)
		if at != weight(y) {
			t.Fatalf("weight %v at %v, want %v", at, y, weight(y))
		}
		sum += y[0] / steps
		square += y[0] * y[0] / steps
	}
	if math.Abs(sum-2./3) > 0.05 || math.Abs(square-sum*sum-2./3) > 0.06 {
		t.Errorf("mean %.3f and variance %.3f, want 2/3", sum, square-sum*sum)
	}
}

// TestStepEnds: where no point of the ellipse is possible a vector stays.
func TestStepEnds(t *testing.T) {
	y := []float64{1, 2}
	weight := func(x []float64) float64 {
		if x[0] == 1 && x[1] == 2 {
			return 0
		}
		return math.Inf(-1)
	}
	r := rand.New(rand.NewPCG(3, 4))
	at := Step(y, []float64{3, 4}, make([]float64, 2), 0, weight, r.Float64)
	if at != 0 || y[0] != 1 || y[1] != 2 {
		t.Errorf("moved to %v, weight %v", y, at)
	}
}
