package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The implicit equations hold at the end of a step, for all numbers.
func TestProximalStepSolvesItsEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
		theta := []float64{draw("mean", -1e3, 1e3), draw("log sd", -20, 20)}
		g := []float64{draw("g", -1e4, 1e4), draw("g log sd", -1e4, 1e4)}
		cavity := []float64{draw("h", -1e4, 1e4), -math.Exp(draw("log precision", -10, 15)) / 2}
		rate := math.Exp(draw("log rate", -12, 3))
		at := append([]float64(nil), theta...)
		unit := draw("unit", 0.01, 4)
		theta[1] /= unit
		at[1] /= unit
		ProximalStep(at, g, cavity, rate, unit)
		p := -2 * cavity[1]
		for i, want := range []float64{
			theta[0] + rate*(g[0]+cavity[0]-p*at[0]),
			theta[1] + rate*(g[1]+unit*(1-p*math.Exp(2*unit*at[1]))),
		} {
			// Errors in the implicit term count times its slope.
			scale := 1 + math.Abs(at[i]) + math.Abs(theta[i]) + rate*(math.Abs(g[i])+math.Abs(cavity[0])+unit)
			slope := 1 + rate*p*max(1, 2*unit*unit*math.Exp(2*unit*at[1]))
			if math.Abs(at[i]-want) > 1e-12*scale*slope {
				t.Fatalf("coordinate %d: %v, want %v", i, at[i], want)
			}
		}
	})
}

// With small rates it is a plain step, and under an improper cavity always.
func TestProximalStepIsPlainInTheLimit(t *testing.T) {
	l := regression("mean-field", 3, 6)
	const unit = 0.5
	c := NewMeanFieldChart(l, unit)
	q, cavity := some(l.space)
	theta := make([]float64, 6)
	g := make([]float64, 6)
	plain := make([]float64, 6)
	if err := c.Open(theta, q); err != nil {
		t.Fatal(err)
	}
	for i := range g {
		g[i] = math.Sin(float64(3 * i))
	}
	const rate = 1e-6
	copy(plain, theta)
	pulled := append([]float64(nil), g...)
	c.Pull(pulled, theta, cavity)
	NewSGD(rate).Step(plain, pulled)
	ProximalStep(theta, g, cavity, rate, unit)
	for i := range theta {
		if math.Abs(theta[i]-plain[i]) > 1e-10 {
			t.Errorf("coordinate %d: %v, want %v", i, theta[i], plain[i])
		}
	}
}
