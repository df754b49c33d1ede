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
			t.Errorf("epsilon %v, delta %v, steps %d: sigma %v, want %v or slightly more",
				e.Epsilon, e.Delta, e.Steps, sigma, e.Sigma)
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
	sigma := math.Sqrt(2*math.Log(1.25e5)) / 0.5
	q := Query{
		Mechanism: Gaussian, Sigma: sigma, Sensitivity: 1, Steps: 1, Delta: 1e-5, Accountant: accountantClassical,
	}
	a, err := Account(q)
	if err != nil || relativeError(a.Epsilon, 0.5) > 1e-11 {
		t.Fatalf("%+v, %v", a, err)
	}
	if exact := GaussianEpsilon(1/sigma, 1e-5); exact > 0.5 {
		t.Errorf("the classical bound claims 0.5 but spends %v", exact)
	}
	q.Sigma /= 2
	if _, err := Account(q); !errors.Is(err, ErrInput) {
		t.Errorf("epsilon 1: %v, want ErrInput", err)
	}
}

// Where a small mu or a large one leaves few of a float's digits, against sixty digits. The
// bounds lie on their sides to a rounding of the literals, and near: the evaluation's padding is
// worth 2^-44/0.5 of epsilon at small mu, and a billionth elsewhere covers the bisection.
func TestGaussianBracketsTheTruthAtExtremes(t *testing.T) {
	const ulp = 0x1p-51
	for _, c := range []struct{ mu, delta, epsilon float64 }{
		{1.4249442571e-05, 2.19744915e-06, 9.3264311052914818711e-6},
		{1e-09, 3e-10, 2.1651349777048910261e-10},
		{1e-09, 3.9e-10, 1.801401598284985141e-11},
		{0.001, 1e-15, 0.0067576396351844954119},
		{3e-07, 1e-10, 9.1155286424229916323e-7},
		{0.01, 0.0039, 0.0001808219214089581755},
		{1e5, 1e-09, 5000599779.7015307546},
		{1e6, 1e-15, 500007941344.32617474},
		{1e6, 0.3, 500000524399.51270819},
		{3e4, 1e-40, 450399326.64136453858},
		{20, 0.3, 209.50166890684540011},
		{1, 1e-40, 13.610920940989339814},
	} {
		hi, lo := GaussianEpsilon(c.mu, c.delta), gaussianLower(c.mu, c.delta)
		if hi < c.epsilon*(1-ulp) || lo > c.epsilon*(1+ulp) {
			t.Errorf("%+v: bounds %v and %v", c, lo, hi)
		}
		if near := 1e-8*c.epsilon + 3e-13; hi-c.epsilon > near || c.epsilon-lo > near {
			t.Errorf("%+v: bounds %v and %v lie far apart", c, lo, hi)
		}
	}
}
