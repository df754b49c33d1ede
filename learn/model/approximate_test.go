package model

import (
	"errors"
	"math"
	"testing"

	"choir/learn/gauss"
)

// The approximations against quadrature: the probit one is off by less than 0.02
// (MacKay 1992), the sampled one by at most 5 standard errors of 100 samples.
func TestApproximatePredictives(t *testing.T) {
	exact := logisticPredictor{&gauss.Moments{Mean: []float64{0.7, -1}, Variance: []float64{2, 0.3}}}
	probit, err := Approximate(exact, Probit)
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := Approximate(exact, MonteCarlo)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{{0, 0}, {1, 1}, {-3, 2}, {4, -4}, {0.1, 5}} {
		want := exact.Predict(x)
		for name, c := range map[string]struct {
			p   Predictor
			tol float64
		}{"probit": {probit, 0.02}, "sampled": {sampled, 5 * want.MeanSD / math.Sqrt(predictiveSamples)}} {
			got := c.p.Predict(x)
			if math.Abs(got.Mean-want.Mean) > c.tol+1e-12 ||
				math.Abs(got.MeanSD-want.MeanSD) > 0.5*want.MeanSD {
				t.Errorf("%s at %v: %+v, want %+v", name, x, got, want)
			}
			for _, y := range []float64{0, 1} {
				if mean, l := c.p.Score(x, y); math.Abs(mean-got.Mean) > 1e-12 ||
					math.Abs(math.Exp(l)-math.Abs(1-y-mean)) > 1e-12 {
					t.Errorf("%s at %v, target %v: mean %v, log density %v, predicted %+v", name, x, y, mean,
						l, got)
				}
			}
		}
	}
}

func TestApproximateOnlyLogistic(t *testing.T) {
	p := linearPredictor{&gauss.Moments{Mean: []float64{1}, Variance: []float64{1}}, 1}
	if same, err := Approximate(p, Quadrature); err != nil || same != p {
		t.Errorf("the default: %v, %v", same, err)
	}
	if _, err := Approximate(p, Probit); !errors.Is(err, ErrPredictive) {
		t.Errorf("a probit of numbers: %v, want ErrPredictive", err)
	}
	if _, err := Approximate(logisticPredictor{}, "bootstrap"); !errors.Is(err, ErrPredictive) {
		t.Errorf("an unknown way: %v, want ErrPredictive", err)
	}
}
