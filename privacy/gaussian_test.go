package privacy

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestGaussianReferences(t *testing.T) {
	entries := references(t, "gaussian")
	if len(entries) != 14 {
		t.Fatalf("%d entries, not 14", len(entries))
	}
	for _, e := range entries {
		mu := e.sensitivity() * math.Sqrt(float64(e.Steps)) / e.Sigma
		got := GaussianEpsilon(mu, e.Delta)
		if relativeError(got, e.Epsilon) > 1e-10 {
			t.Errorf("sigma %v, steps %d, delta %v: %v, want %v", e.Sigma, e.Steps, e.Delta, got, e.Epsilon)
		}
		if got < e.Epsilon*(1-4e-16) {
			t.Errorf("sigma %v, delta %v: %v lies below the truth %v", e.Sigma, e.Delta, got, e.Epsilon)
		}
	}
}

func TestGaussianCalibrationReferences(t *testing.T) {
	entries := references(t, "gaussian_calibration")
	if len(entries) != 14 {
		t.Fatalf("%d entries, not 14", len(entries))
	}
	for _, e := range entries {
		mu, err := GaussianMu(e.Epsilon, e.Delta)
		if err != nil {
			t.Fatal(err)
		}
		sigma := e.sensitivity() * math.Sqrt(float64(e.Steps)) / mu
		if relativeError(sigma, e.Sigma) > 1e-10 || sigma < e.Sigma*(1-4e-16) {
			t.Errorf("epsilon %v, delta %v, steps %d: sigma %v, want %v or barely above", e.Epsilon, e.Delta, e.Steps, sigma, e.Sigma)
		}
	}
}

func TestGaussianDeltaAndEpsilonInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-7, 3).Draw(t, "ln mu"))
		delta := math.Exp(rapid.Float64Range(-60, -1).Draw(t, "ln delta"))
		e := GaussianEpsilon(mu, delta)
		if d := GaussianDelta(mu, e); d > delta {
			t.Fatalf("mu %v: delta(%v) = %v > %v", mu, e, d, delta)
		}
		if e == 0 {
			return
		}
		if d := GaussianDelta(mu, e*(1-1e-9)); d <= delta {
			t.Fatalf("mu %v: a smaller epsilon than %v would do for %v", mu, e, delta)
		}
	})
}

func TestClassicalGaussian(t *testing.T) {
	sigma, err := ClassicalSigma(0.5, 1e-5)
	if err != nil || relativeError(sigma, math.Sqrt(2*math.Log(1.25e5))/0.5) > 1e-11 {
		t.Fatalf("sigma %v, %v", sigma, err)
	}
	if exact := GaussianEpsilon(1/sigma, 1e-5); exact > 0.5 {
		t.Errorf("the classical bound claims 0.5 but spends %v", exact)
	}
	if _, err := ClassicalSigma(1, 1e-5); !errors.Is(err, ErrInput) {
		t.Errorf("epsilon 1 gave %v, want a refusal", err)
	}
}
