package model

import (
	"math"
	"testing"
)

// average is E[f(a)] for a ~ N(mu, v) by Simpson's rule on 4001 points within 12
// standard deviations: independent of the code under test. Simpson is (4 T_h -
// T_2h)/3 of two trapezoidal sums; with 2h = 0.012 standard deviations, at most
// 0.36 in a for the variances tried, and poles at distance pi, each is off by some
// exp(-2 pi^2/0.36), nothing.
func average(f func(float64) float64, mu, v float64) float64 {
	const n, reach = 4000, 12.0
	h := 2 * reach / n
	s := math.Sqrt(v)
	var sum float64
	for i := 0; i <= n; i++ {
		z := -reach + h*float64(i)
		w := 2.0
		switch {
		case i == 0 || i == n:
			w = 1
		case i%2 == 1:
			w = 4
		}
		sum += w * f(mu+s*z) * math.Exp(-z*z/2)
	}
	return sum * h / 3 / math.Sqrt(2*math.Pi)
}

func sigmoid(a float64) float64  { return 1 / (1 + math.Exp(-a)) }
func softplus(a float64) float64 { return math.Max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) }

var variances = []float64{0, 1e-6, 0.01, 0.3, 1, 4, 9.6, 50, 210, 900}

func TestSigmoidMomentsAgainstQuadrature(t *testing.T) {
	var worstMean, worstSlope, worstPlus float64
	for _, v := range variances {
		for mu := -40.0; mu <= 40; mu += 2.5 {
			mean, slope := sigmoidMoments(mu, v)
			worstMean = max(worstMean, math.Abs(mean-average(sigmoid, mu, v)))
			exact := average(func(a float64) float64 { return sigmoid(a) * sigmoid(-a) }, mu, v)
			worstSlope = max(worstSlope, math.Abs(slope-exact))
			worstPlus = max(worstPlus, math.Abs(expectSoftplus(mu, v)-average(softplus, mu, v)))
		}
	}
	t.Logf("worst errors: mean %.2g, slope %.2g, softplus %.2g", worstMean, worstSlope, worstPlus)
	if worstMean > 3e-9 || worstSlope > 2e-8 || worstPlus > 1e-8 {
		t.Errorf("errors %g, %g, %g are above the documented 3e-9, 2e-8, 1e-8", worstMean, worstSlope,
			worstPlus)
	}
}

// With variance 0 the approximation error is largest; a fine sweep of the function itself
// bounds the error for every variance, since averaging cannot increase it.
func TestProbitMixtureSupremum(t *testing.T) {
	var worstMean, worstSlope, worstPlus float64
	for a := -60.0; a <= 60; a += 0.001 {
		mean, slope := sigmoidMoments(a, 0)
		worstMean = max(worstMean, math.Abs(mean-sigmoid(a)))
		worstSlope = max(worstSlope, math.Abs(slope-sigmoid(a)*sigmoid(-a)))
		worstPlus = max(worstPlus, math.Abs(expectSoftplus(a, 0)-softplus(a)))
	}
	t.Logf("suprema: mean %.2g, slope %.2g, softplus %.2g", worstMean, worstSlope, worstPlus)
	if worstMean > 3e-9 || worstSlope > 2e-8 || worstPlus > 1e-8 {
		t.Errorf("suprema %g, %g, %g are above the documented 3e-9, 2e-8, 1e-8", worstMean, worstSlope,
			worstPlus)
	}
}

func TestSigmoidMomentsAreDerivatives(t *testing.T) {
	// Central differences: h^2/6 times a third derivative below 0.2, < 1e-9; rounding
	// 1e-15*20/h < 1e-9.
	const h = 1e-4
	for _, v := range []float64{0.01, 1, 9.6, 210} {
		for mu := -12.0; mu <= 12; mu += 1.5 {
			mean, slope := sigmoidMoments(mu, v)
			byMu := (expectSoftplus(mu+h, v) - expectSoftplus(mu-h, v)) / (2 * h)
			byV := (expectSoftplus(mu, v+h) - expectSoftplus(mu, v-h)) / (2 * h)
			if math.Abs(byMu-mean) > 2e-9 || math.Abs(2*byV-slope) > 4e-9 {
				t.Errorf("mu %v, v %v: derivatives %v, %v, want %v, %v", mu, v, byMu, 2*byV, mean, slope)
			}
		}
	}
}

func TestLogExpectSigmoidAgainstQuadrature(t *testing.T) {
	for _, v := range variances {
		for mu := -12.0; mu <= 30; mu += 1.5 {
			got, want := logExpectSigmoid(mu, v), math.Log(average(sigmoid, mu, v))
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("mu %v, v %v: %v, want %v", mu, v, got, want)
			}
		}
	}
}

func TestLogExpectSigmoidComplements(t *testing.T) {
	for _, v := range variances {
		for mu := 0.0; mu <= 60; mu += 0.7 {
			one := math.Exp(logExpectSigmoid(mu, v)) + math.Exp(logExpectSigmoid(-mu, v))
			if math.Abs(one-1) > 1e-11 {
				t.Errorf("mu %v, v %v: probabilities add up to 1%+g", mu, v, one-1)
			}
		}
	}
}

// Deep in the tail sigma(a) = exp(a) - exp(2a) + ..., whose averages are exact.
func TestLogExpectSigmoidTail(t *testing.T) {
	for _, v := range []float64{0, 1e-6, 0.3, 1, 4, 9.6} {
		for _, mu := range []float64{-80, -200, -700, -1e4} {
			if got, want := logExpectSigmoid(mu, v), mu+v/2; math.Abs(got-want) > 1e-9 {
				t.Errorf("mu %v, v %v: %v, want %v", mu, v, got, want)
			}
		}
	}
	if got := logExpectSigmoid(1e4, 4); got != 0 && got < -1e-11 {
		t.Errorf("a certain record has log probability %v", got)
	}
}
