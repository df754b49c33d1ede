package privacy

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// On a grid of 2^-20 the integer bound must cost no more than 1e-6 over the exact
// Gaussian curve, across the range that the project promises (issue: 1% of sigma).
func TestEpsilonOnFineGridIsTheGaussianCurve(t *testing.T) {
	const clip = 1 << 20
	for _, epsilon := range []float64{0.1, 1, 10} {
		for _, delta := range []float64{1e-10, 1e-5, 1e-3} {
			for _, releases := range []uint32{1, 15, 1000} {
				n, err := Calibrate(Target{Epsilon: epsilon, Delta: delta, Sensitivity: 2 * clip, Dim: 1e5,
					Releases: releases, Parts: 7})
				if err != nil {
					t.Fatal(err)
				}
				mu, _ := GaussianMu(epsilon, delta)
				exact := 2 * clip * math.Sqrt(float64(releases)) / mu
				got := math.Sqrt(7 * float64(n.PartVariance))
				if got < exact || got > exact*(1+1e-6) {
					t.Errorf("(%v, %v) x %d: sigma %v, exact %v", epsilon, delta, releases, got, exact)
				}
				if n.Epsilon > epsilon || n.Method != methodNearGaussian {
					t.Errorf("(%v, %v): spends %v by %s", epsilon, delta, n.Epsilon, n.Method)
				}
			}
		}
	}
}

// How coarse a grid may be: with a noise of 11 grid units or more the integers need at most
// 1% more of it than the Gaussian curve, across the promised range of targets.
func TestElevenGridUnitsCostOnePercent(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.3, 1, 3, 10} {
		for _, delta := range []float64{1e-10, 1e-5, 1e-3} {
			for _, parts := range []uint32{1, 10} {
				mu, err := GaussianMu(epsilon, delta)
				if err != nil {
					t.Fatal(err)
				}
				sensitivity := uint64(math.Ceil(11 * mu))
				target := Target{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity, Dim: 1000, Releases: 1,
					Parts: parts}
				n, err := Calibrate(target)
				if err != nil {
					t.Fatal(err)
				}
				// Integer variances per part round up: compare with the variance before.
				least := math.Sqrt(float64(n.PartVariance-1) * float64(parts))
				if exact := float64(target.Sensitivity) / mu; least > 1.01*exact {
					t.Errorf("(%v, %v) in %d parts: sigma %v, Gaussian %v", epsilon, delta, parts, least, exact)
				}
			}
		}
	}
}

func TestEpsilonNeverBelowTheGaussianCurveNorAboveZCDP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Release{
			Sensitivity:  rapid.Uint64Range(1, 1000).Draw(t, "sensitivity"),
			PartVariance: rapid.Uint64Range(100, 1e9).Draw(t, "variance"),
			Parts:        rapid.Uint32Range(1, 50).Draw(t, "parts"),
			Dim:          rapid.Uint32Range(1, 1e6).Draw(t, "dim"),
		}
		n := rapid.IntRange(1, 20).Draw(t, "rounds")
		delta := math.Exp(rapid.Float64Range(-25, -5).Draw(t, "ln delta"))
		var all []Release
		for range n {
			all = append(all, r)
		}
		b, err := Epsilon(all, delta)
		if err != nil {
			t.Fatal(err)
		}
		if z := zcdpEpsilon(up(float64(n)*r.rho()), delta); b.Epsilon > z*(1+1e-6) {
			t.Fatalf("%v exceeds zCDP's %v", b, z)
		}
		// With variance this far above the smoothing parameter the integer curve is the
		// Gaussian's to far better than a part in 1e9, so a bound below it would be wrong.
		mu := float64(r.Sensitivity) * math.Sqrt(float64(n)/r.variance())
		if g := GaussianEpsilon(mu, delta); b.Epsilon < g*(1-1e-9) {
			t.Fatalf("%v lies below the Gaussian curve's %v", b, g)
		}
	})
}

func TestEpsilonComposesHeterogeneously(t *testing.T) {
	a := Release{Sensitivity: 1 << 16, PartVariance: 1 << 36, Parts: 3, Dim: 100}
	b := Release{Sensitivity: 1 << 16, PartVariance: 1 << 35, Parts: 5, Dim: 100}
	mixed, err := Epsilon([]Release{a, b, a}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	// [Dissertation], Theorem 29: mu^2 adds up, in any order.
	mu := math.Sqrt(math.Exp2(32) * (2/(3*math.Exp2(36)) + 1/(5*math.Exp2(35))))
	if want := GaussianEpsilon(mu, 1e-6); relativeError(mixed.Epsilon, want) > 1e-7 {
		t.Errorf("%v, want %v", mixed.Epsilon, want)
	}
	again, err := Epsilon([]Release{b, a, a}, 1e-6)
	if err != nil || relativeError(again.Epsilon, mixed.Epsilon) > 1e-10 {
		t.Errorf("another order gives %v, %v", again.Epsilon, err)
	}
	if none, err := Epsilon(nil, 1e-6); err != nil || none.Epsilon != 0 {
		t.Errorf("no release costs %v, %v", none, err)
	}
}

func TestSensitivityByRelation(t *testing.T) {
	for _, c := range []struct {
		r    Relation
		want uint64
	}{{ReplaceOne, 10}, {AddRemove, 5}} {
		got, err := c.r.Sensitivity(5)
		if err != nil || got != c.want {
			t.Errorf("%v: %d, %v", c.r, got, err)
		}
		back, err := ParseRelation(c.r.String())
		if err != nil || back != c.r {
			t.Errorf("%v parses to %v, %v", c.r, back, err)
		}
	}
	for _, bad := range []func() error{
		func() error { _, err := ReplaceOne.Sensitivity(1 << 63); return err },
		func() error { _, err := AddRemove.Sensitivity(0); return err },
		func() error { _, err := Relation(9).Sensitivity(1); return err },
		func() error { _, err := ParseRelation("swap"); return err },
	} {
		if err := bad(); !errors.Is(err, ErrInput) {
			t.Errorf("accepted: %v", err)
		}
	}
}

func TestCalibrateIsLeastAndMeetsItsTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := Target{
			Epsilon:     math.Exp(rapid.Float64Range(-3, 3).Draw(t, "ln epsilon")),
			Delta:       math.Exp(rapid.Float64Range(-25, -4).Draw(t, "ln delta")),
			Sensitivity: rapid.Uint64Range(1, 1<<18).Draw(t, "sensitivity"),
			Dim:         rapid.Uint32Range(1, 1e5).Draw(t, "dim"),
			Releases:    rapid.Uint32Range(1, 200).Draw(t, "releases"),
			Parts:       rapid.Uint32Range(1, 30).Draw(t, "parts"),
		}
		n, err := Calibrate(target)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]Release, target.Releases)
		for i := range all {
			all[i] = target.release(n.PartVariance).Release
		}
		b, err := Epsilon(all, target.Delta)
		if err != nil || b.Epsilon != n.Epsilon || b.Epsilon > target.Epsilon {
			t.Fatalf("spends %v (said %v) of %v: %v", b.Epsilon, n.Epsilon, target.Epsilon, err)
		}
		if n.PartVariance > 1 && target.spends(n.PartVariance-1).Epsilon <= target.Epsilon {
			t.Fatalf("variance %d would do as well", n.PartVariance-1)
		}
	})
}

// TestCalibrateSampled compares with the figure of an independent PLD accountant: joint Poisson
// sampling at rate 0.02, 4000 rounds, (1, 1e-5), replace-one, noise multiplier 9.44 over the clip.
// The search stops within 1/1000. With -short only the bounds on both sides of the figure are
// computed.
func TestCalibrateSampled(t *testing.T) {
	const clip = 1 << 20
	target := Target{Epsilon: 1, Delta: 1e-5, Sensitivity: 2 * clip, Dim: 218, Releases: 4000, Parts: 8,
		Sampling: SamplingPoisson, Rate: 0.02}
	variance := func(multiplier float64) uint64 { return uint64(multiplier * multiplier * clip * clip / 8) }
	less, more := target.spends(variance(9.42)), target.spends(variance(9.46))
	if less.Epsilon <= 1 || more.Epsilon > 1 {
		t.Errorf("noise multiplier 9.42 spends %v, 9.46 spends %v", less.Epsilon, more.Epsilon)
	}
	if testing.Short() {
		return
	}
	n, err := Calibrate(target)
	if err != nil {
		t.Fatal(err)
	}
	if got := math.Sqrt(8*float64(n.PartVariance)) / clip; math.Abs(got-9.44) > 0.02 {
		t.Errorf("noise multiplier %.4f", got)
	}
	b, err := Spent([]SampledRelease{target.release(n.PartVariance)}, ReplaceOne, 1e-5, PlanPrecision())
	if err != nil || b.Epsilon != n.Epsilon || b.Epsilon > 1 || b.Method != MethodPLD {
		t.Errorf("spends %+v, said %v: %v", b, n.Epsilon, err)
	}
}

// Equal releases cost the same whether they come one by one or counted.
func TestSpentCounts(t *testing.T) {
	one := SampledRelease{Release: Release{Sensitivity: 200, PartVariance: 1 << 20, Parts: 3, Dim: 5},
		Sampling: SamplingPoisson, Rate: 0.1, Count: 1}
	whole := one
	whole.Sampling, whole.Rate = SamplingNone, 0
	counted, apart := []SampledRelease{one, whole}, []SampledRelease{}
	counted[0].Count, counted[1].Count = 5, 2
	for i := range 7 {
		if i%3 == 1 {
			apart = append(apart, whole)
		} else {
			apart = append(apart, one)
		}
	}
	a, errA := Spent(counted, ReplaceOne, 1e-6, PlanPrecision())
	b, errB := Spent(apart, ReplaceOne, 1e-6, PlanPrecision())
	if errA != nil || errB != nil || math.Abs(a.Epsilon/b.Epsilon-1) > 1e-9 || !(a.Epsilon > 0) {
		t.Errorf("%v, %v; %v, %v", a, b, errA, errB)
	}
	for name, spoil := range map[string]func(*SampledRelease){
		"count": func(x *SampledRelease) { x.Count = 0 }, "rate": func(x *SampledRelease) { x.Rate = 1.5 },
		"sampling":         func(x *SampledRelease) { x.Sampling = 7 },
		"part variance":    func(x *SampledRelease) { x.PartVariance = 0 },
		"needs a sampling": func(x *SampledRelease) { x.Sampling = SamplingNone },
	} {
		t.Run(name, func(t *testing.T) {
			bad := one
			spoil(&bad)
			if _, err := Spent([]SampledRelease{bad}, ReplaceOne, 1e-6, PlanPrecision()); !errors.Is(err, ErrInput) ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRejectionsNameTheField(t *testing.T) {
	good := Target{Epsilon: 1, Delta: 1e-5, Sensitivity: 2, Dim: 1, Releases: 1, Parts: 1}
	if _, err := Calibrate(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Target){
		"epsilon":     func(t *Target) { t.Epsilon = math.NaN() },
		"delta":       func(t *Target) { t.Delta = 1 },
		"sensitivity": func(t *Target) { t.Sensitivity = 0 },
		"dim":         func(t *Target) { t.Dim = 0 },
		"releases":    func(t *Target) { t.Releases = 0 },
		"parts":       func(t *Target) { t.Parts = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			spoil(&bad)
			if _, err := Calibrate(bad); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
	far := good
	far.Sensitivity, far.Epsilon = 1<<40, 1e-9
	if _, err := Calibrate(far); !errors.Is(err, ErrUnreachable) {
		t.Errorf("out of reach: %v", err)
	}
	if _, err := HiddenParts(3, 2); !errors.Is(err, ErrInput) {
		t.Errorf("N_min 3, T 2: %v", err)
	}
	if k, err := HiddenParts(8, 2); err != nil || k != 5 {
		t.Errorf("N_min 8, T 2: %d, %v", k, err)
	}
}

func TestHiddenVarianceIsExact(t *testing.T) {
	r := Release{Sensitivity: 1, PartVariance: math.MaxUint64, Parts: math.MaxUint32, Dim: 1}
	want, _ := new(big.Int).SetString("79228162495817593515539431425", 10)
	if got := r.HiddenVariance(); got.Cmp(want) != 0 {
		t.Errorf("%v, want %v", got, want)
	}
}

// variance is HiddenVariance as a float, within one part in 2^52.
func (r Release) variance() float64 { return float64(r.PartVariance) * float64(r.Parts) }

// rho returns Sensitivity^2 / (2 HiddenVariance), rounded up: the zCDP parameter of the
// Gaussian of the same variance, and of one discrete Gaussian ([CKS20], Theorem 4; in any dimension,
// since integer shifts compose over coordinates). For several parts the deviation of their sum from a
// discrete Gaussian must be added: see [Epsilon].
func (r Release) rho() float64 { return rho(float64(r.Sensitivity), r.variance()) }
