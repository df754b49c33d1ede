package privacy

import (
	"math"
	"strings"
	"testing"
)

func TestRenyiReferences(t *testing.T) {
	covered := 0
	for _, e := range references(t, "subsampled_gaussian") {
		if !strings.Contains(e.Impl, "Opacus") {
			continue
		}
		covered++
		curve := func(a float64) float64 { return float64(e.Steps) * sampledRenyi(e.Sigma, e.Q, a) }
		got := curveEpsilon(curve, defaultOrders(), e.Delta)
		// Both references truncate a series at fractional orders; they differ by 1.3e-5.
		if relativeError(got, e.Epsilon) > 2e-5 || relativeError(got, e.CrossCheck) > 2e-5 {
			t.Errorf("sigma %v, q %v x %d: %v, want %v or %v", e.Sigma, e.Q, e.Steps, got, e.Epsilon, e.CrossCheck)
		}
		best := bestOrder(e.Delta, curve)
		if best > got*(1+1e-9) {
			t.Errorf("sigma %v: the best order gives %v, the grid %v", e.Sigma, best, got)
		}
	}
	if covered != 6 {
		t.Fatalf("covered %d entries, not 6", covered)
	}
}

func TestMomentsReferences(t *testing.T) {
	covered := 0
	for _, e := range references(t, "subsampled_gaussian") {
		if !strings.Contains(e.Impl, "classic moments") {
			continue
		}
		covered++
		got, lambda := MomentsEpsilon(e.Sigma, e.Q, e.Steps, e.Delta, 32)
		if relativeError(got, e.Epsilon) > 1e-9 || lambda != e.Lambda {
			t.Errorf("sigma %v, q %v x %d: %v at %d, want %v at %d",
				e.Sigma, e.Q, e.Steps, got, lambda, e.Epsilon, e.Lambda)
		}
	}
	if covered != 3 {
		t.Fatalf("covered %d entries, not 3", covered)
	}
}

// Integer orders have a finite sum ([MTZ19]):
// an independent calculation of the same integral.
func TestSampledRenyiAgainstBinomialSum(t *testing.T) {
	for _, c := range []struct{ sigma, q float64 }{{0.6, 0.3}, {1, 0.01}, {5, 0.2}, {20, 0.5}} {
		for a := 2; a <= 24; a++ {
			sum := math.Inf(-1)
			for k := 0; k <= a; k++ {
				x := float64(k)
				term := lnBinomial(float64(a), x) + (float64(a)-x)*math.Log1p(-c.q) +
					x*math.Log(c.q) + x*(x-1)/(2*c.sigma*c.sigma)
				sum = lnAdd(sum, term)
			}
			want := sum / float64(a-1)
			if got := sampledRenyi(c.sigma, c.q, float64(a)); got < want*(1-1e-13)-1e-14 || got > want*(1+1e-9)+1e-12 {
				t.Errorf("%+v order %d: %v, want %v", c, a, got, want)
			}
		}
	}
	if got := sampledRenyi(2, 1, 3); relativeError(got, 3.0/8) > 1e-9 {
		t.Errorf("q 1: %v", got)
	}
}

// Records far beyond the noise cost no memory: the bound is closed there, above the integral and
// within the logarithm of 2 per order of it.
func TestSampledMomentsOfFarRecords(t *testing.T) {
	for _, q := range []float64{1e-6, 0.01, 0.5, 1 - 0x1p-20} {
		for _, mu := range []float64{20, 40, 2e5, 1e150, math.Inf(1)} {
			for _, a := range []float64{1.1, 2, 33, 63} {
				// The larger of the integrand's two humps is less than the integral.
				hump := math.Max(a*math.Log1p(-q), a*math.Log(q)+a*(a-1)*mu*mu/2)
				got := farMoment(mu, q, a)
				if !(got >= hump*(1-1e-15)) || got > math.Max(0, hump)*(1+1e-15)+a*math.Ln2 {
					t.Errorf("mu %v, q %v, order %v: %v, above %v", mu, q, a, got, hump)
				}
			}
			if got := sampledRenyi(1/mu, q, 1.1); mu <= 40 && !(got <= sampledRenyi(1/mu, 1, 1.1)*(1+1e-9)) {
				t.Errorf("mu %v, q %v: sampling costs %v", mu, q, got)
			}
		}
	}
	for _, power := range []float64{-32, -1, 1.1, 5, 33} {
		integral, bound := lnMoment(farMu, 0.01, power), farMoment(farMu, 0.01, power)
		if integral > bound*(1+1e-13)+1e-14 || bound > math.Abs(integral)*(1+1e-9)+math.Abs(power)*math.Ln2 {
			t.Errorf("power %v: integral %v, bound %v", power, integral, bound)
		}
	}
	for _, accountant := range []string{AccountantRDP, accountantMoments} {
		q := Query{Mechanism: Gaussian, Sigma: 0.05, Clip: 1000, Relation: AddRemove, Steps: 3, Delta: 1e-5,
			Rate: 0.01, Sampling: SamplingPoisson, Accountant: accountant}
		if a, err := Account(q); err != nil || a.Epsilon < 1e7 {
			t.Errorf("%s: %+v, %v", accountant, a, err)
		}
	}
}

func TestDistributedReferences(t *testing.T) {
	orders := append(integerOrders(128), 256)
	entries := references(t, "distributed_discrete_gaussian", "distributed_skellam")
	if len(entries) != 6 {
		t.Fatalf("%d entries, not 6", len(entries))
	}
	for _, e := range entries {
		grid := 1 / e.Gamma
		if e.Mechanism == "distributed_skellam" {
			grid = e.Scale
		}
		l2 := grid * roundedNorm(e.sensitivity(), 1/grid, e.Beta, e.Dim)
		variance := grid * e.Sigma * grid * e.Sigma
		curve := func(a float64) float64 { return a * l2 * l2 / (2 * variance) }
		if e.Mechanism == "distributed_skellam" {
			curve = func(a float64) float64 { return skellamRenyi(variance, l2, integerL1(l2, e.Dim), a) }
		}
		sampled := curve
		if e.Q < 1 {
			sampled = func(a float64) float64 { return poissonRenyi(curve, e.Q, int(a)) }
		}
		got := curveEpsilon(func(a float64) float64 { return float64(e.Steps) * sampled(a) }, orders, e.Delta)
		if relativeError(got, e.Epsilon) > 1e-6 {
			t.Errorf("%s sigma %v q %v x %d: %v, want %v", e.Mechanism, e.Sigma, e.Q, e.Steps, got, e.Epsilon)
		}
		if e.Mechanism == "distributed_skellam" || e.Q < 1 {
			continue
		}
		// Our own bound for the same integers: never above theirs, never below the Gaussian's.
		local := e.LocalStddev * grid
		all := make([]Release, e.Steps)
		for i := range all {
			all[i] = Release{Sensitivity: uint64(math.Ceil(l2)), PartVariance: uint64(local * local),
				Parts: uint32(e.Shares), Dim: uint32(e.Dim)}
		}
		b, err := Epsilon(all, e.Delta)
		if err != nil || b.Epsilon > e.Epsilon || b.Epsilon < e.Continuous {
			t.Errorf("%v, %v is not between the Gaussian %v and the reference %v", b, err, e.Continuous, e.Epsilon)
		}
	}
}

// roundedNorm bounds the L2 norm of a real vector of norm at most clip after unbiased random rounding to
// a grid of step gamma, conditioned on not exceeding the bound, which fails with probability at most
// beta < 1 ([KLS21]). The references use it. Choir rounds to nearest and then clips the integers, so that
// the clip is the bound (docs/privacy.md, section 5).
func roundedNorm(clip, gamma, beta float64, dim int) float64 {
	d := float64(dim)
	worst := clip + gamma*math.Sqrt(d)
	deviation := math.Sqrt(2*math.Log(1/beta)) * gamma * (clip + gamma*math.Sqrt(d)/2)
	usual := math.Sqrt(clip*clip + gamma*gamma*d/4 + deviation)
	return up(math.Min(worst, usual))
}
