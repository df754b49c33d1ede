package model

import (
	"math"
	"testing"

	"choir/learn/gauss"
)

// The spread of a probability against an independent quadrature, also where it is
// tiny.
func TestSigmoidSDAgainstQuadrature(t *testing.T) {
	for _, v := range variances {
		for mu := -30.0; mu <= 30; mu += 5 {
			mean := average(sigmoid, mu, v)
			square := func(a float64) float64 { return (sigmoid(a) - mean) * (sigmoid(a) - mean) }
			want := math.Sqrt(average(square, mu, v))
			// Near a tail of the sigmoid the reference's cancellation is some 1e-12.
			if got := sigmoidSD(mu, v); math.Abs(got-want) > 1e-7*want+1e-12 {
				t.Errorf("N(%v, %v): %v, want %v", mu, v, got, want)
			}
		}
	}
}

func TestPredictorsAgreeWithThemselves(t *testing.T) {
	m := &gauss.Moments{Mean: []float64{1, -2}, Variance: []float64{0.5, 3}}
	for name, s := range map[string]Settings{
		"logistic": {Family: gauss.MeanField, Features: 2, Steps: 1, LearningRate: 0.1, Floor: 1},
		"linear":   {Family: gauss.MeanField, Features: 2, NoiseSD: 0.7, Floor: 1},
	} {
		t.Run(name, func(t *testing.T) {
			kind, _ := Lookup(name)
			p := kind.Predictor(s, m)
			for _, x := range [][]float64{{0, 0}, {2, 1}, {3, -4}, {-5, 0.1}} {
				got := p.Predict(x)
				for _, y := range []float64{0, 1} {
					mean, density := p.Score(x, y)
					if math.Abs(mean-got.Mean) > 1e-10 || math.IsNaN(density) ||
						(kind.Binary && math.Abs(math.Exp(density)-math.Abs(1-y-mean)) > 1e-10) {
						t.Errorf("%s at %v, target %v: mean %v, log density %v, predicted %+v", name, x, y, mean,
							density, got)
					}
				}
				if !(got.MeanSD >= 0 && got.MeanSD <= got.SD+1e-12) {
					t.Errorf("%s at %v: the mean's spread %v is above the target's %v", name, x, got.MeanSD,
						got.SD)
				}
			}
		})
	}
}

// Without an opinion about the record no class is predicted.
func TestLogisticTieIsNoClass(t *testing.T) {
	p := logisticPredictor{&gauss.Moments{Mean: []float64{0, 0}, Variance: []float64{1, 2}}}
	mean, _ := p.Score([]float64{3, 4}, 0)
	again, _ := p.Score([]float64{3, 4}, 1)
	if mean > 0.5 || again > 0.5 || math.Abs(mean-0.5) > 1e-10 {
		t.Errorf("probabilities %v and %v, want 1/2 and not above", mean, again)
	}
}

func TestEveryNameIsAModel(t *testing.T) {
	for _, name := range Names() {
		if kind, ok := Lookup(name); !ok || kind.Site == nil || (kind.Predictor == nil) != kind.External ||
			kind.Weights == nil || kind.Check == nil {
			t.Errorf("%s: %+v, %v", name, kind, ok)
		}
	}
	if _, ok := Lookup("probit"); ok {
		t.Error("a model that isn't there was found")
	}
}
