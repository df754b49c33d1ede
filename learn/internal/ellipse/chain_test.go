package ellipse

import (
	"math"
	"testing"
)

// TestChain: draws have the law of TestStep. Of 9,000, about one in three of which counts alone, the mean
// has a standard error of .015 and the variance of .017: five of them are exceeded once in a million runs. A
// second chain shows the same draws.
func TestChain(t *testing.T) {
	var all [2][]float64
	for i := range all {
		c := New([]float64{3, -3}, func(x []float64) float64 { return -math.Pow(x[0]+x[1]-2, 2) / 2 })
		c.Run(func(x []float64) { all[i] = append(all[i], x[0]) })
	}
	var sum, square float64
	for k, x := range all[0] {
		if x != all[1][k] {
			t.Fatalf("draw %d is %v, and %v by another chain", k, x, all[1][k])
		}
		sum += x / Draws
		square += x * x / Draws
	}
	if len(all[0]) != Draws || math.Abs(sum-2./3) > 0.08 || math.Abs(square-sum*sum-2./3) > 0.09 {
		t.Errorf("%d draws of mean %.3f and variance %.3f, want 2/3", len(all[0]), sum, square-sum*sum)
	}
}

// TestGenerator: 20,000 numbers have the moments of their laws within five standard errors.
func TestGenerator(t *testing.T) {
	const n = 20_000
	var g Generator
	var u, z, zz float64
	for range n {
		x := g.Uniform()
		if !(x > 0 && x < 1) {
			t.Fatalf("uniform %v", x)
		}
		u += x / n
		x = g.Normal()
		z += x / n
		zz += x * x / n
	}
	most := 5 / math.Sqrt(n)
	if math.Abs(u-0.5) > most*0.2887 || math.Abs(z) > most || math.Abs(zz-1) > most*math.Sqrt2 {
		t.Errorf("uniform mean %.4f, normal mean %.4f and mean square %.4f", u, z, zz)
	}
}
