package privacy

import (
	"errors"
	"math"
	"strings"
	"testing"

	"choir/privacy/pld"
)

var coarse = pld.Precision{Cells: 60, MaxBits: 16}

// provenAccountants lists the accountants that are proven for each mechanism and sampling.
var provenAccountants = []struct {
	name        string
	mechanism   Mechanism
	relation    Relation
	sampling    Sampling
	accountants []string
}{
	{"gaussian", Gaussian, 0, 0, []string{
		accountantAnalytic, accountantZCDP, AccountantRDP, accountantMoments, accountantPLD,
	}},
	{"discrete", DiscreteGaussian, 0, 0, []string{
		accountantExact, accountantNearGaussian, accountantZCDP, AccountantRDP,
	}},
	{"skellam", Skellam, 0, 0, []string{AccountantRDP}},
	{"poisson", Gaussian, AddRemove, SamplingPoisson, []string{
		accountantPLD, AccountantRDP, accountantMoments,
	}},
	{"poisson replace", Gaussian, ReplaceOne, SamplingPoisson, []string{accountantPLD}},
	{"fixed", Gaussian, ReplaceOne, SamplingFixed, []string{accountantPLD, AccountantRDP}},
	{"discrete poisson", DiscreteGaussian, AddRemove, SamplingPoisson, []string{
		accountantNearGaussian, AccountantRDP,
	}},
	{"skellam poisson", Skellam, AddRemove, SamplingPoisson, []string{AccountantRDP}},
}

// TestAccountantsAreOrdered: the bound of every accountant that is proven for a query is at least that
// of the tightest, which is at least the lower bound.
func TestAccountantsAreOrdered(t *testing.T) {
	plain := Query{Sigma: 12, Sensitivity: 1, Steps: 10, Delta: 1e-5, Precision: coarse}
	sampled := Query{Sigma: 2000, Clip: 1000, Steps: 200, Delta: 1e-5, Rate: 0.05, Precision: coarse}
	compared := 0
	for _, c := range provenAccountants {
		t.Run(c.name, func(t *testing.T) {
			q := plain
			if c.sampling != SamplingNone {
				q = sampled
			}
			q.Mechanism = c.mechanism
			q.Relation = c.relation
			q.Sampling = c.sampling
			best, err := Account(q)
			if err != nil {
				t.Fatal(err)
			}
			if !(best.LowerBound <= best.Epsilon) || len(best.Assumptions) < 2 {
				t.Errorf("%+v", best)
			}
			for _, name := range c.accountants {
				q.Accountant = name
				a, err := Account(q)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if a.Accountant != name || a.LowerBound > a.Epsilon ||
					a.Epsilon < best.Epsilon*(1-1e-9) || a.Epsilon < best.LowerBound {
					t.Errorf("%s: %+v against the tightest %+v", name, a, best)
				}
				compared++
			}
		})
	}
	if compared != 19 {
		t.Fatalf("compared %d accountants, not 19", compared)
	}
}

// TestAccountReferences compares Account with the references without sampling.
func TestAccountReferences(t *testing.T) {
	covered := 0
	for _, e := range references(t, "gaussian", "discrete_gaussian", "skellam") {
		q := Query{
			Mechanism: Mechanism(strings.ReplaceAll(e.Mechanism, "_", "-")), Sigma: e.Sigma,
			Sensitivity: e.sensitivity(), Steps: e.Steps, Delta: e.Delta,
		}
		a, err := Account(q)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-6
		if e.Mechanism == "discrete_gaussian" && e.Steps > 1 {
			tolerance = 1e-4
		}
		for _, got := range []float64{a.Epsilon, a.LowerBound} {
			if relativeError(got, e.Epsilon) > tolerance {
				t.Errorf("%+v: %+v, want %v", q, a, e.Epsilon)
			}
		}
		covered++
	}
	if covered != 21 {
		t.Fatalf("covered %d entries, not 21", covered)
	}
}

// invalidQueries change a valid query. The keys are parts of the error messages.
var invalidQueries = map[string]func(*Query){
	"mechanism":        func(q *Query) { q.Mechanism = "laplace" },
	"sigma":            func(q *Query) { q.Sigma = 0 },
	"steps":            func(q *Query) { q.Steps = 0 },
	"delta":            func(q *Query) { q.Delta = 2 },
	"dim":              func(q *Query) { q.Dim = -1 },
	"both given":       func(q *Query) { q.Sensitivity = 1 },
	"relation":         func(q *Query) { q.Relation = 0 },
	"neither":          func(q *Query) { q.Clip = 0 },
	"rate":             func(q *Query) { q.Rate, q.Sampling = 1.5, SamplingPoisson },
	"needs a sampling": func(q *Query) { q.Rate = 0.5 },
	"sampling needs a relation": func(q *Query) {
		q.Rate, q.Sampling = 0.5, SamplingPoisson
		q.Clip, q.Sensitivity, q.Relation = 0, 1, 0
	},
	"one step":        func(q *Query) { q.Accountant = accountantClassical },
	"below epsilon 1": func(q *Query) { q.Accountant, q.Steps = accountantClassical, 1 },
	"is not proven":   func(q *Query) { q.Accountant = accountantExact },
	"replace-one neighbours only": func(q *Query) {
		q.Rate, q.Sampling, q.Relation = 0.5, SamplingFixed, AddRemove
	},
	"sampling with replace-one": func(q *Query) {
		q.Rate, q.Sampling, q.Accountant = 0.5, SamplingPoisson, accountantMoments
	},
	"needs the clip": func(q *Query) {
		q.Rate, q.Sampling, q.Clip, q.Sensitivity = 0.5, SamplingPoisson, 0, 2
	},
	"sigma is too small": func(q *Query) {
		q.Rate, q.Sampling, q.Sigma = 0.5, SamplingFixed, 0.03
	},
	"needs dim 1": func(q *Query) {
		q.Mechanism, q.Dim, q.Accountant = DiscreteGaussian, 3, accountantExact
	},
	"no finite": func(q *Query) {
		q.Mechanism, q.Sigma, q.Accountant = DiscreteGaussian, 0.1, accountantNearGaussian
	},
	"for skellam":      func(q *Query) { q.Mechanism, q.Accountant = Skellam, accountantPLD },
	"without sampling": func(q *Query) { q.Accountant = "magic" },
}

func TestAccountRejections(t *testing.T) {
	good := Query{Mechanism: Gaussian, Sigma: 3, Clip: 1, Relation: ReplaceOne, Steps: 2, Delta: 1e-5}
	if _, err := Account(good); err != nil {
		t.Fatal(err)
	}
	if len(invalidQueries) != 22 {
		t.Fatalf("%d cases", len(invalidQueries))
	}
	for reason, spoil := range invalidQueries {
		t.Run(reason, func(t *testing.T) {
			q := good
			spoil(&q)
			if _, err := Account(q); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), reason) {
				t.Error(err)
			}
		})
	}
}

// With -short, queries with sampling are left to the full run.
func TestSolveSigmaMeetsItsTarget(t *testing.T) {
	for _, q := range []Query{
		{Mechanism: Gaussian, Clip: 1, Relation: ReplaceOne, Steps: 15, Delta: 1e-5},
		{Mechanism: DiscreteGaussian, Sensitivity: 50, Steps: 15, Delta: 1e-5, Dim: 100},
		{Mechanism: Skellam, Sensitivity: 50, Steps: 3, Delta: 1e-5, Dim: 10},
		{
			Mechanism: DiscreteGaussian, Sensitivity: 1, Relation: AddRemove, Sampling: SamplingPoisson,
			Rate: 0.5, Steps: 400, Delta: 1e-5, Precision: coarse,
		},
		{
			Mechanism: Gaussian, Clip: 1, Relation: AddRemove, Sampling: SamplingPoisson,
			Rate: 0.1, Steps: 100, Delta: 1e-5, Precision: coarse,
		},
	} {
		if testing.Short() && q.sampled() {
			continue
		}
		sigma, a, err := SolveSigma(q, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.Epsilon > 1 || a.Epsilon < 0.9999 {
			t.Errorf("%+v: sigma %v spends %v", q, sigma, a.Epsilon)
		}
	}
	q := Query{Mechanism: Gaussian, Clip: 1, Relation: ReplaceOne, Steps: 15, Delta: 1e-5}
	sigma, _, err := SolveSigma(q, 1)
	if err != nil || relativeError(sigma, 28.897348384953386) > 2e-6 {
		t.Errorf("sigma %v, %v", sigma, err)
	}
	q = Query{Mechanism: Gaussian, Sensitivity: 1, Steps: 1, Delta: 2}
	if _, _, err := SolveSigma(q, 1); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "delta") {
		t.Errorf("delta 2: %v", err)
	}
	if _, _, err := SolveSigma(Query{}, 1); !errors.Is(err, ErrInput) {
		t.Errorf("an empty query: %v", err)
	}
}

// The upper bound for integers meets the lower bound for the same integers, up to the replacement of
// sums by integrals in the lower bound: about one integer in the standard deviation of the sum.
func TestLowerBoundMeetsEpsilon(t *testing.T) {
	for _, r := range []Release{
		{Sensitivity: 1 << 20, PartVariance: 1 << 46, Parts: 4, Dim: 1000},
		{Sensitivity: 1 << 14, PartVariance: 1 << 30, Parts: 1, Dim: 10},
		{Sensitivity: 40, PartVariance: 900, Parts: 7, Dim: 1},
	} {
		for _, delta := range []float64{1e-10, 1e-5, 1e-3} {
			all := make([]Release, 5)
			for i := range all {
				all[i] = r
			}
			b, err := Epsilon(all, delta)
			if err != nil {
				t.Fatal(err)
			}
			lower := lowerInteger(r.sums(5), delta)
			if lower > b.Epsilon || lower < b.Epsilon*(1-1e-6-2/math.Sqrt(r.variance())) {
				t.Errorf("%+v at %v: lower %v, upper %+v", r, delta, lower, b)
			}
		}
	}
}

// TestSigmaIsRoundedDown checks that a discrete Gaussian's sigma, the rounded root of an integer variance,
// is accounted as less than that variance: its square may be more.
func TestSigmaIsRoundedDown(t *testing.T) {
	const d, delta, steps = 3, 1e-6, 7
	for _, v := range []float64{30, 75, 1000, 12345, 1<<20 + 7} {
		exact := grouped{sums{d, v, 1, 2, steps}}
		rdp := curveEpsilon(func(a float64) float64 { return up(a * steps * exact[0].rho(v)) },
			defaultOrders(), delta)
		for name, least := range map[string]float64{accountantZCDP: exact.zcdp(delta), AccountantRDP: rdp} {
			a, err := Account(Query{Mechanism: DiscreteGaussian, Sigma: math.Sqrt(v), Sensitivity: d, Dim: 2,
				Steps: steps, Delta: delta, Accountant: name})
			if err != nil {
				t.Fatal(err)
			}
			if !(a.Epsilon > least) {
				t.Errorf("variance %v, %s: %v, not above %v", v, name, a.Epsilon, least)
			}
		}
	}
}

// TestExactEpsilonLeavesRoundings checks that exact summation leaves a part of delta for the roundings of
// the masses, 10^-10 of it: at its epsilon the computed delta is that much less.
func TestExactEpsilonLeavesRoundings(t *testing.T) {
	for _, q := range []Query{
		{Sigma: 4, Sensitivity: 1, Steps: 1, Delta: 1e-5},
		{Sigma: 10, Sensitivity: 3, Steps: 2, Delta: 1e-8},
		{Sigma: 25, Sensitivity: 7, Steps: 5, Delta: 1e-3},
	} {
		q.Mechanism, q.Dim, q.Accountant = DiscreteGaussian, 1, accountantExact
		a, err := Account(q)
		if err != nil {
			t.Fatal(err)
		}
		l, err := discreteGaussianLattice(q.Sigma*q.Sigma, q.Steps)
		if err != nil {
			t.Fatal(err)
		}
		d := l.divergence(int(q.Sensitivity)*q.Steps, a.Epsilon, true)
		if left := 1 - d/q.Delta; left < 0.99e-10 || left > 1.02e-10 {
			t.Errorf("%+v: %v of delta is left", q, left)
		}
	}
}
