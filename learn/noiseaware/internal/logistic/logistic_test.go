package logistic

import (
	"math"
	"testing"
)

// TestMeanSlope: over normal logits of standard deviation 5 the mean slope of the logistic function is that
// of a sum over a fine grid, computed elsewhere to four digits; without spread it is p(1 - p).
func TestMeanSlope(t *testing.T) {
	for _, c := range []struct{ mean, sd, want float64 }{{0, 5, 0.0751449}, {0, 2, 0.1514264}, {0, 0, 0.25},
		{1, 0, 0.196612}} {
		if got := MeanSlope(c.mean, c.sd*c.sd); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("mean %v, sd %v: %v, want %v", c.mean, c.sd, got, c.want)
		}
	}
}

// TestProbit: over normal logits the normal distribution function of variance Probit has the mean slope of
// the logistic function within a twentieth, and its values within .02.
func TestProbit(t *testing.T) {
	for _, c := range []struct{ mean, variance float64 }{{0, 0}, {1, 1}, {-2, 4}, {0.5, 25}} {
		v := Probit + c.variance
		slope := math.Exp(-c.mean*c.mean/(2*v)) / math.Sqrt(2*math.Pi*v)
		if want := MeanSlope(c.mean, c.variance); math.Abs(slope/want-1) > 0.05 {
			t.Errorf("%+v: slope %.4f, want %.4f", c, slope, want)
		}
	}
	for x := -6.0; x <= 6; x += 0.5 {
		if p := 1 / (1 + math.Exp(-x)); math.Abs(Cumulative(x/math.Sqrt(Probit))-p) > 0.02 {
			t.Errorf("at %v: %.4f, want %.4f", x, Cumulative(x/math.Sqrt(Probit)), p)
		}
		if got, want := LogCosh(math.Abs(x)), math.Log(math.Cosh(x)); math.Abs(got-want) > 1e-12 {
			t.Errorf("log cosh %v: %v, want %v", x, got, want)
		}
	}
}
