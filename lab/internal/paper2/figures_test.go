package paper2

import (
	"math"
	"testing"

	"choir/learn/mcmc"
	"choir/privacy"
	"choir/privacy/pld"
)

// TestFigure1Values: all points of both panels, computed independently from the paper's formulas.
func TestFigure1Values(t *testing.T) {
	for _, c := range []struct {
		n, rounds int
		q, want   float64
	}{
		{1e5, 5000, 0.001, 0.7857307614049299}, {1e5, 5000, 0.005, 2.411312473434235},
		{1e5, 5000, 0.01, 4.941518044347794}, {1e6, 5000, 0.001, 0.4994298288265986},
		{1e6, 5000, 0.005, 2.542487826161451}, {1e6, 5000, 0.01, 5.291642093069009},
		{1e7, 5000, 0.001, 0.5305151770351169}, {1e7, 5000, 0.005, 2.7307972131277207},
		{1e7, 5000, 0.01, 5.664999298429786}, {1e5, 1000, 0.001, 0.6989308800442909},
		{1e5, 20000, 0.001, 1.1112303165073265}, {1e5, 100000, 0.001, 2.4727570432142287},
		{1e6, 1000, 0.001, 0.22578389827861373}, {1e6, 20000, 0.001, 1.0004195705317964},
		{1e6, 100000, 0.001, 2.2766376862214526}, {1e7, 1000, 0.001, 0.24029394831465634},
		{1e7, 20000, 0.001, 1.0611284320998875}, {1e7, 100000, 0.001, 2.4079500026682936},
	} {
		size := int(math.Round(c.q * float64(c.n)))
		near(t, "epsilon", corollary(printed, size, c.n, c.rounds, 1/float64(c.n), false), c.want, 1e-6)
	}
}

// TestGaussianValues: budgets as the mu of a Gaussian, and 1,000 tests of records bounded by 0.01.
func TestGaussianValues(t *testing.T) {
	for _, c := range []struct{ mu, delta, epsilon float64 }{
		{0.26805112321149105, 1e-5, 1}, {0.5015516891696566, 1e-5, 2}, {0.9249308976669359, 1e-5, 4},
		{1.30952583940591, 1e-5, 6}, {0.24506240812745925, 2e-6, 1},
		{0.44721359549995787, 1e-5, 1.7600571495138908},
		{0.02 * math.Sqrt(1000/(math.Pi*math.Pi/3)), 1e-5, 1.3358770006070717},
		{0.006324555320336759, 1e-6, 0.020524550674878045},
	} {
		near(t, "epsilon", privacy.GaussianEpsilon(c.mu, c.delta), c.epsilon, 1e-6)
	}
	const zcdp = 1e-4 * 1000 // of Theorem 1
	near(t, "the paper's epsilon", zcdp+2*math.Sqrt(zcdp*math.Log(1e5)), 2.2459660266091284, 1e-6)
}

// TestLogisticValue: 1,000 exact Barker tests whose logistic noise is revealed with the sum. The loss of a
// shift by 0.02 is a monotone function of the noise, so that its law is cut into cells.
func TestLogisticValue(t *testing.T) {
	const shift, cells = 0.02, 1 << 16
	cdf := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	var atoms []pld.Atom
	const lo, hi = -40.0, 40.0
	for i := range cells {
		a, b := lo+(hi-lo)*float64(i)/cells, lo+(hi-lo)*float64(i+1)/cells
		mass := func(at float64) float64 { // without cancellation in the upper tail
			if a > at {
				return cdf(at-a) - cdf(at-b)
			}
			return cdf(b-at) - cdf(a-at)
		}
		atoms = append(atoms, pld.Atom{P: mass(shift), Q: mass(0)})
	}
	term := pld.Term{Kind: pld.Discrete, Count: 1000, Lattice: pld.NewLattice(atoms, 0)}
	got, err := pld.Upper([]pld.Term{term}, 1e-5, pld.Precision{Cells: 600})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "epsilon", got, 1.4046415973503392, 1e-4)
}

// TestBitValue: only the decision is revealed. Its range of losses is 0.02, so that it is 0.02^2/8 zCDP.
func TestBitValue(t *testing.T) {
	const zcdp = 1000 * 0.02 * 0.02 / 8
	least := math.Inf(1)
	for order := 1.01; order < 200; order += 0.001 {
		e := zcdp*order + math.Log1p(-1/order) - math.Log(1e-5*order)/(order-1)
		least = math.Min(least, e)
	}
	near(t, "epsilon", least, 1.3081183442199316, 1e-6)
}

// TestWrongNoiseValues: the inverse temperature of a penalty chain of small steps whose noise has another
// variance than the test assumes: the slope at 0 of the logarithm of the acceptances' ratio.
func TestWrongNoiseValues(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	accepts := func(d, c, s2 float64) float64 {
		s := math.Sqrt(s2)
		return phi((d-c/2)/s) + math.Exp(d-c/2+s2/2)*phi((c/2-d-s2)/s)
	}
	const h = 1e-5
	for share, want := range map[float64]float64{0.5: 1.3130626367395217, 0.8: 1.0957638734229012,
		0.9: 1.0445159444013168, 1.1: 0.9608608972229729, 1.25: 0.910105294944415} {
		near(t, "acceptance", accepts(0.3, 2, 2), mcmc.PenaltyAcceptance(0.3, 2), 1e-12)
		got := math.Log(accepts(h, 2, 2*share)/accepts(-h, 2, 2*share)) / h
		near(t, "inverse temperature", got, want, 1e-6)
	}
}

// TestBestVariance: the noise variance at which small steps of the penalty test go farthest for a budget.
func TestBestVariance(t *testing.T) {
	best, at := 0.0, 0.0
	for c := 5.0; c < 6.5; c += 1e-4 {
		if v := c * mcmc.PenaltyAcceptance(0, c); v > best {
			best, at = v, c
		}
	}
	near(t, "variance", at, 5.670125718582898, 1e-3)
	near(t, "variance times acceptance", best, 1.3257329182308084, 1e-7)
}
