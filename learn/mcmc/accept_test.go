package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// TestCorrections: errors in the distribution function and variances, computed independently
// on a grid of step 1/100 with the atoms of each table.
func TestCorrections(t *testing.T) {
	for variance, want := range map[float64][2]float64{
		2:   {0.0005875569109330403, 1.3381132664755042},
		1.5: {3.914032091345554e-05, 1.7867906414778927},
		1:   {1.1056081234528392e-05, 2.2890741954154903},
	} {
		a, err := Correction(variance)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "variance", a.variance(), want[1], 1e-9)
		near(t, "error of the distribution function", a.cdfError(variance), want[0], 1e-3)
		near(t, "acceptance at 0", a.BarkerAcceptance(0, variance), 0.5, 1e-12)
	}
	if _, err := Correction(3); err == nil {
		t.Error("a variance without a table has a correction")
	}
}

// TestPenaltyAcceptance: values from quadrature, and detailed balance.
func TestPenaltyAcceptance(t *testing.T) {
	for _, c := range []struct{ variance, delta, want float64 }{
		{1, -4, 0.018314775811652275}, {1, -1, 0.3211820251133721}, {1, 0, 0.6170750774519738},
		{1, 1, 0.8730632624933561}, {1, 4, 0.999952877587992}, {2, -4, 0.018208711948784283},
		{2, -1, 0.2625893241108638}, {2, 0, 0.4795001221869535}, {2, 1, 0.7137917880779036},
		{2, 4, 0.9941619868900307}, {5.7, -4, 0.014603808332924668}, {5.7, -1, 0.13405822017233204},
		{5.7, 0, 0.23258217758213529}, {5.7, 1, 0.3644080238500119}, {5.7, 4, 0.7973409184163032},
	} {
		near(t, "acceptance", PenaltyAcceptance(c.delta, c.variance), c.want, 1e-9)
	}
	for d := 0.25; d < 30; d += 0.25 {
		ratio := math.Log(PenaltyAcceptance(d, 2) / PenaltyAcceptance(-d, 2))
		if math.Abs(ratio-d) > 1e-9*d {
			t.Errorf("log a(%v)/a(-%v) is %v", d, d, ratio)
		}
	}
}

// TestTests: frequencies of the two tests under Gaussian noise. 10^5 draws and 6 standard
// deviations give 8 comparisons a false-alarm rate of 2e-8; the seed is fixed.
func TestTests(t *testing.T) {
	const n = 100000
	rng := rand.New(rand.NewPCG(3, 4))
	a, _ := Correction(2)
	for _, delta := range []float64{-2, 0, 0.5, 3} {
		var penalty, barker float64
		for range n {
			noisy := delta + math.Sqrt2*rng.NormFloat64()
			if AcceptPenalty(noisy, 2, rng.Float64()) {
				penalty++
			}
			if AcceptBarker(noisy, a.Draw(rng.Float64())) {
				barker++
			}
		}
		for _, c := range [][2]float64{{penalty, PenaltyAcceptance(delta, 2)},
			{barker, a.BarkerAcceptance(delta, 2)}} {
			if sd := math.Sqrt(n * c[1] * (1 - c[1])); math.Abs(c[0]-n*c[1]) > 6*sd {
				t.Errorf("delta %v: %v of %d accepted, want %.0f +- %.0f", delta, c[0], n, n*c[1], sd)
			}
		}
	}
}

func TestLogarithm(t *testing.T) {
	for _, x := range []float64{0x1p-54, 1e-9, 0.1, 0.5, 0.7071, 0.70711, 0.9999999, 1, 1.0000001, 1.5, 1e10} {
		if got, want := logOf(x), math.Log(x); math.Abs(got-want) > 1e-14*math.Abs(want) {
			t.Errorf("log %v is %v, want %v", x, got, want)
		}
	}
}

// TestSoftplus also beyond the table, and at no number.
func TestSoftplus(t *testing.T) {
	for x := 0.0; x < 40; x += 0.00037 {
		if got, want := softplus(x), math.Log1p(math.Exp(-x)); math.Abs(got-want) > 1e-13 {
			t.Fatalf("at %v it is %v, want %v", x, got, want)
		}
	}
	if got := logLikelihood(math.Inf(1), 0); !math.IsInf(got, -1) {
		t.Errorf("the log-likelihood of what is impossible is %v", got)
	}
	if got := logLikelihood(math.NaN(), 1); !math.IsNaN(got) {
		t.Errorf("the log-likelihood of no number is %v", got)
	}
}

// TestDiagnostics: an autoregression of coefficient 1/2 is worth a third of its draws, and
// chains at different places don't agree.
func TestDiagnostics(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	chains := make([][]float64, 4)
	for k := range chains {
		x := 0.0
		for range 2000 {
			x = x/2 + rng.NormFloat64()
			chains[k] = append(chains[k], x)
		}
	}
	near(t, "effective draws", effectiveDraws(chains), 8000./3, 0.15)
	near(t, "split R-hat", splitRHat(chains), 1, 0.01)
	for i := range chains[0] {
		chains[0][i] += 3
	}
	if r := splitRHat(chains); r < 1.1 {
		t.Errorf("split R-hat of chains at different places is %v", r)
	}
	if n := effectiveDraws(chains); n > 100 {
		t.Errorf("chains at different places are worth %v draws", n)
	}
}

// variance is that of the distribution.
func (a Atoms) variance() (v float64) {
	for k, w := range a.Weight {
		v += w * a.At[k] * a.At[k]
	}
	return v
}

// cdfError is the largest difference of BarkerAcceptance from the logistic distribution
// function, on a grid of step 1/100.
func (a Atoms) cdfError(variance float64) float64 {
	worst := 0.0
	for i := range 3001 {
		d := float64(i) / 100
		worst = max(worst, math.Abs(a.BarkerAcceptance(d, variance)-1/(1+math.Exp(-d))))
	}
	return worst
}
