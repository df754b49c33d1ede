package shrink

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/gauss"
)

// TestJamesStein: a mean m of d = 12 numbers with noise of variance 1 has a squared error of 12, and the
// share kept of it d - (d-2)^2 E 1/|m|^2 [JS61], or less, since it is at least 0. The mean of 20,000 draws
// has a standard error of .02.
func TestJamesStein(t *testing.T) {
	const d, draws = 12, 20_000
	r := rand.New(rand.NewPCG(8, 9))
	noise := make([]float64, d)
	ones := make([]float64, d)
	for i := range noise {
		noise[i], ones[i] = 1, 1
	}
	for _, length := range []float64{0, 3} {
		var short, formula float64
		for range draws {
			m := make([]float64, d)
			for i := range m {
				m[i] = length/math.Sqrt(d) + r.NormFloat64()
			}
			of := Square(m, ones)
			share := Kept(of, noise, 0)
			for _, x := range m {
				short += math.Pow(share*x-length/math.Sqrt(d), 2) / draws
			}
			formula += (d - (d-2)*(d-2)/of) / draws
		}
		if short > formula+0.1 || short < formula-1 {
			t.Errorf("length %v: squared error %.2f, without the positive part %.2f", length, short, formula)
		}
	}
	if got := Kept(10, noise, 2); math.Abs(got-max(0, 1-(10+2*math.Sqrt(24))/10)) > 1e-12 {
		t.Errorf("by chance: %v", got)
	}
}

// TestLargest: the largest number below which all have a property.
func TestLargest(t *testing.T) {
	for _, want := range []float64{0, 0.3, 1} {
		if got := Largest(func(k float64) bool { return k <= want }); math.Abs(got-want) > 1e-11 {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestAbout: mean squares about another mean, at most the prior's variance, and at least those of the other.
func TestAbout(t *testing.T) {
	m := &gauss.Moments{Mean: []float64{1, 0, 0}, Variance: []float64{0.1, 0.5, 0.1}}
	wide := &gauss.Moments{Mean: []float64{1.5, 0, 3}, Variance: []float64{0.2, 0.2, 0.2}}
	got := About(m, wide, 1)
	for i, want := range []float64{0.2 + 0.25, 0.5, 1} {
		if math.Abs(got.Variance[i]-want) > 1e-12 || got.Mean[i] != m.Mean[i] {
			t.Errorf("weight %d: %v, want %v", i, got.Variance[i], want)
		}
	}
}

// TestLengthsOfNoise: without a signal the posterior's mean of a weight has V(1 - PV) of its variance V.
func TestLengthsOfNoise(t *testing.T) {
	got := Lengths([]float64{0.25, 1}, []float64{2, 1}, []float64{4, 3})
	if math.Abs(got[0]-4*0.25*0.5) > 1e-12 || got[1] != 0 {
		t.Errorf("%v", got)
	}
}
