package privacy

import (
	"errors"
	"math"
	"testing"
)

func TestLatticeReferences(t *testing.T) {
	entries := references(t, "discrete_gaussian", "sum_of_discrete_gaussians", "skellam")
	if len(entries) != 9 {
		t.Fatalf("%d entries, not 9", len(entries))
	}
	for _, e := range entries {
		var l *lattice
		var err error
		shift := int(e.sensitivity()) * e.Steps
		tolerance := 1e-8
		switch e.Mechanism {
		case "skellam":
			l, err = skellamLattice(e.Variance)
		case "discrete_gaussian":
			l, err = discreteGaussianLattice(e.Sigma*e.Sigma, e.Steps)
		default:
			l, err = discreteGaussianLattice(e.LocalSigma*e.LocalSigma, e.Shares)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := l.epsilon(shift, e.Delta)
		if e.Steps > 1 {
			// The reference discretises (1e-5 a step) and rounds up: it may only lie above.
			tolerance = 1e-4
			if got > e.Epsilon*(1+1e-12) {
				t.Errorf("%s sigma %v x %d: %v exceeds the pessimistic %v", e.Mechanism, e.Sigma, e.Steps, got, e.Epsilon)
			}
		}
		if relativeError(got, e.Epsilon) > tolerance {
			t.Errorf("%s sigma %v x %d: %v, want %v", e.Mechanism, e.Sigma, e.Steps, got, e.Epsilon)
		}
		checkBoundsHold(t, e, got)
	}
}

// checkBoundsHold holds the proven bounds against the exact value.
func checkBoundsHold(t *testing.T, e reference, exact float64) {
	switch e.Mechanism {
	case "skellam":
		curve := func(a float64) float64 { return skellamRenyi(e.Variance, e.sensitivity(), e.sensitivity(), a) }
		if b := curveEpsilon(curve, integerOrders(128), e.Delta); b < exact {
			t.Errorf("Skellam's Renyi bound %v lies below the exact %v", b, exact)
		}
	case "discrete_gaussian":
		r := Release{Sensitivity: uint64(e.sensitivity()), PartVariance: uint64(e.Sigma * e.Sigma), Parts: 1,
			Dim: 1}
		all := make([]Release, e.Steps)
		for i := range all {
			all[i] = r
		}
		b, err := Epsilon(all, e.Delta)
		if err != nil || b.Epsilon < exact {
			t.Errorf("bound %v, %v lies below the exact %v", b, err, exact)
		}
	}
}

func integerOrders(last int) []float64 {
	var orders []float64
	for a := 2; a <= last; a++ {
		orders = append(orders, float64(a))
	}
	return orders
}

// The bound for integer noise against the exact curve in one dimension, for one part and
// many, noise small and large: above it always, and not far.
func TestEpsilonAgainstExactIntegers(t *testing.T) {
	worst := 0.0
	cases := 0
	for _, variance := range []uint64{1, 2, 4, 9, 25, 400} {
		for _, parts := range []uint32{1, 2, 5, 20} {
			l, err := discreteGaussianLattice(float64(variance), int(parts))
			if err != nil {
				t.Fatal(err)
			}
			for _, shift := range []int{1, 3} {
				for _, delta := range []float64{1e-9, 1e-5, 1e-3} {
					b, err := Epsilon([]Release{{uint64(shift), variance, parts, 1}}, delta)
					if err != nil {
						t.Fatal(err)
					}
					exact := l.epsilon(shift, delta)
					if b.Epsilon < exact*(1-1e-9) {
						t.Errorf("variance %d x %d, shift %d, delta %v: bound %v below the exact %v",
							variance, parts, shift, delta, b.Epsilon, exact)
					}
					if variance >= 25 {
						worst = math.Max(worst, b.Epsilon/exact-1)
					}
					cases++
				}
			}
		}
	}
	if cases != 144 {
		t.Fatalf("%d cases", cases)
	}
	// A variance of 25 loses at most r = 1.5 of it or so to the rounding argument: 3% of epsilon.
	if worst > 0.05 {
		t.Errorf("the bound exceeds the exact value by %v from variance 25 on", worst)
	}
}

// Lemma 1 against the convolved probabilities themselves.
func TestSumDeviationHoldsPointwise(t *testing.T) {
	for _, v := range []float64{0.3, 0.5, 1, 2} {
		for _, k := range []uint32{1, 2, 3, 6, 12} {
			l, err := discreteGaussianLattice(v, int(k))
			if err != nil {
				t.Fatal(err)
			}
			d := sumDeviation(v, k)
			s := v * float64(k)
			var high, low float64
			for i, m := range l.mass {
				z := float64(l.first + i)
				if m < 1e-290 {
					continue
				}
				x := math.Log(m) + z*z/(2*s) + math.Log(2*math.Pi*s)/2
				high, low = math.Max(high, x), math.Max(low, -x)
			}
			if high > d.high+1e-10 || low > d.low+1e-10 {
				t.Errorf("v %v, k %d: deviates by +%v -%v, lemma says +%v -%v", v, k, high, low, d.high, d.low)
			}
		}
	}
}

// Lemma 2 by quadrature of the rounding over the centre.
func TestRoundingDeviationHoldsPointwise(t *testing.T) {
	for _, r := range []float64{0.3, 0.6, 1} {
		d := roundingDeviation(r)
		for _, s := range []float64{r + 0.2, r + 1, r + 9} {
			for z := -3.0; z <= 3; z++ {
				var pmf float64
				const h = 0.01
				for y := z - 40; y < z+40; y += h {
					norm := 0.0
					for n := math.Round(y) - 40; n <= math.Round(y)+40; n++ {
						norm += math.Exp(-(n - y) * (n - y) / (2 * r))
					}
					pmf += h * math.Exp(-y*y/(2*(s-r))-(z-y)*(z-y)/(2*r)) / norm / math.Sqrt(2*math.Pi*(s-r))
				}
				x := -z*z/(2*s) - math.Log(2*math.Pi*s)/2 - math.Log(pmf)
				if x > d.high+1e-9 || x < -d.low-1e-9 {
					t.Errorf("r %v, s %v, z %v: ln(density/pmf) = %v outside [-%v, %v]", r, s, z, x, d.low, d.high)
				}
			}
		}
	}
}

func TestLatticeVariance(t *testing.T) {
	// The reference states the true variance of 10 parts of parameter 1/4.
	l, err := discreteGaussianLattice(0.25, 10)
	if err != nil || relativeError(l.variance(), 2.150126750881385) > 1e-12 {
		t.Errorf("%v, %v", l.variance(), err)
	}
	s, err := skellamLattice(10)
	if err != nil || relativeError(s.variance(), 10) > 1e-12 {
		t.Errorf("%v, %v", s.variance(), err)
	}
	for _, bad := range []float64{0, math.NaN(), 1e18} {
		if _, err := discreteGaussianLattice(bad, 1); !errors.Is(err, ErrInput) {
			t.Errorf("variance %v: %v", bad, err)
		}
		if _, err := skellamLattice(bad); !errors.Is(err, ErrInput) {
			t.Errorf("Skellam variance %v: %v", bad, err)
		}
	}
}

// If the noise is narrow compared with the sensitivity s, nearly all mass is at 0, where the loss is
// s^2/(2 sigma^2): no epsilon below that holds, also if e^epsilon is very large.
func TestNarrowNoiseHasALargeEpsilon(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.1, 0.3} {
		for _, s := range []float64{1, 2, 3, 7, 250} {
			for _, steps := range []int{1, 3, 5000} {
				q := Query{Mechanism: DiscreteGaussian, Sigma: sigma, Sensitivity: s, Steps: steps, Delta: 1e-9}
				a, err := Account(q)
				loss := s * s / (2 * sigma * sigma)
				if err != nil || !(a.Epsilon >= loss*(1-1e-9)) || a.LowerBound > a.Epsilon {
					t.Errorf("%+v: %+v, %v; one step's loss is %v", q, a, err, loss)
				}
				q.Accountant = accountantExact
				if a, err := Account(q); err == nil && !(a.Epsilon >= loss*(1-1e-9)) ||
					err != nil && !errors.Is(err, ErrInput) {
					t.Errorf("%+v: %+v, %v; one step's loss is %v", q, a, err, loss)
				}
			}
		}
	}
}

// variance returns the variance of the distribution. That of a discrete Gaussian with a small parameter
// differs from sigma^2.
func (l *lattice) variance() float64 {
	var v float64
	for i, m := range l.mass {
		z := float64(l.first + i)
		v += z * z * m
	}
	return v
}
