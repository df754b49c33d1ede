package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"choir/attack/threat"
)

// distinguish is what the command passes.
func distinguish(delta, falseAlarm float64, p, q []float64) (float64, error) {
	f, err := threat.Test{Delta: delta, FalseAlarm: falseAlarm}.Epsilon(p, q)
	return f.Epsilon, err
}

// TestNoisyLossOfWorkedCase compares the exact ratios with those of an independent
// calculation, and with closed forms: one factor that carries all the noise hides
// its own state (1 exactly), no damping leaves nothing to leak, one round
// either, and many factors tend to the limit.
func TestNoisyLossOfWorkedCase(t *testing.T) {
	for _, c := range []struct {
		m    int
		a    float64
		want float64
	}{{2, .1, 1.23}, {10, .1, 1.59}, {100, .1, 1.74}, {2, .4, 1.36}, {10, .4, 2.51}, {100, .4, 3.84}} {
		l, err := lossOf(15, c.m, c.a)
		if err != nil || math.Abs(l.Ratio-c.want) > 0.005 {
			t.Errorf("M = %d, a = %g: %v, %v, want %v", c.m, c.a, l.Ratio, err, c.want)
		}
	}
	for _, c := range []struct {
		rounds, m int
		a, want   float64
	}{{15, 1, .1, 1}, {15, 1, .4, 1}, {15, 50, 0, 1}, {1, 50, .4, 1}, {15, 1e9, .1, 1.754},
		{15, 1e9, .4, 4.1745}} {
		l, err := lossOf(c.rounds, c.m, c.a)
		if err != nil || math.Abs(l.Ratio-c.want) > 0.0005 {
			t.Errorf("%+v: %v, %v", c, l.Ratio, err)
		}
	}
	if a, b := lossLimit(15, .1), lossLimit(15, .4); math.Abs(a-1.754) > 5e-4 || math.Abs(b-4.1745) > 5e-4 {
		t.Errorf("limits %v and %v", a, b)
	}
}

// TestNoisyLossOfTwoRounds is done by hand. With M = 2 and a = 1/2 over two rounds, B is
// (1, 0; 1/2, 1), B 1 = (1, 3/2), BB' = (1, 1/2; 1/2, 5/4), the covariance (1,
// 1/4; 1/4, 9/8), its determinant 17/16, and B1' cov^-1 B1 = 16/17 (9/8 - 3/4 + 9/4)
// = 42/17, over two rounds 21/17.
func TestNoisyLossOfTwoRounds(t *testing.T) {
	l, err := lossOf(2, 2, 0.5)
	if err != nil || math.Abs(l.Ratio-math.Sqrt(21.0/17)) > 1e-12 {
		t.Errorf("%v, %v", l, err)
	}
	if w := []float64{16.0 / 17 * (9.0/8 - 3.0/8),
		16.0 / 17 * (1.5 - 0.25)}; math.Abs(l.Weights[0]-w[0]) > 1e-12 ||
		math.Abs(l.Weights[1]-w[1]) > 1e-12 {
		t.Errorf("weights %v, want %v", l.Weights, w)
	}
}

// TestStatisticOfRuns: over simulated runs the adversary's statistic has the mean
// and the variance that the derivation says, 2 mu'w apart and w'cov w, so that the
// ratio is what runs of the scheme give and not only what the matrices do.
// Tolerances are seven standard errors (one false alarm in 10^11).
func TestStatisticOfRuns(t *testing.T) {
	const runs, sigma = 20000, 28.9
	for _, s := range []scheme{{2, 15, .4, sigma, true}, {10, 15, .1, sigma, true},
		{100, 15, .4, sigma, true}, {100, 15, .4, sigma, false}} {
		ratio, weights := 1.0, []float64(nil)
		if s.noisy {
			l, err := lossOf(s.rounds, s.factors, s.damping)
			if err != nil {
				t.Fatal(err)
			}
			ratio, weights = l.Ratio, l.Weights
		}
		e := &NoisyFactors{Runs: runs}
		var mean, variance [2]float64
		for i := range mean {
			x, err := e.sample(t.Context(), s, weights, 1, float64(2*i-1))
			if err != nil {
				t.Fatal(err)
			}
			mean[i], variance[i] = meanAndVariance(x)
		}
		v := (variance[0] + variance[1]) / 2
		want := ratio * 2 * math.Sqrt(15) / sigma
		if got := (mean[1] - mean[0]) / math.Sqrt(v); math.Abs(got-want) > 7*math.Sqrt((2+want*want/4)/runs) {
			t.Errorf("%+v: mu is %v in runs, %v derived", s, got, want)
		}
	}
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// TestEveryFactorSimulated: runs that simulate and clip each factor publish the same sums
// as the linear case, to rounding, where no other update is cut; and there is a
// regime in which none is. With ten factors there isn't: the test can tell.
func TestEveryFactorSimulated(t *testing.T) {
	for _, noisy := range []bool{true, false} {
		g, err := regime(scheme{2000, 15, .1, 28.9, noisy})
		if err != nil || g.Updates != 10*15*1999 || g.Cut != 0 || g.Largest > 1 || g.Deviation > 1e-9 {
			t.Errorf("2000 factors: %+v, %v", g, err)
		}
	}
	g, err := regime(scheme{10, 15, .1, 28.9, true})
	if err != nil || g.Cut == 0 || g.Deviation < 1 {
		t.Errorf("10 factors: %+v, %v", g, err)
	}
}

// TestNormals: mean, variance and tails of a million draws, each within seven
// standard errors (one false alarm in 10^11); another name, other numbers.
func TestNormals(t *testing.T) {
	const n = 1 << 20
	a, err := newNormals("a")
	if err != nil {
		t.Fatal(err)
	}
	x, beyond := make([]float64, n), 0.0
	for i := range x {
		if x[i] = a.normal(); math.Abs(x[i]) > 3 {
			beyond++
		}
	}
	mean, variance := meanAndVariance(x)
	tail := math.Erfc(3 / math.Sqrt2)
	if math.Abs(mean) > 7/math.Sqrt(n) || math.Abs(variance-1) > 7*math.Sqrt(2.0/n) ||
		math.Abs(beyond-tail*n) > 7*math.Sqrt(tail*n) {
		t.Errorf("mean %v, variance %v, %v beyond 3", mean, variance, beyond)
	}
	again, _ := newNormals("a")
	other, _ := newNormals("b")
	if v := again.normal(); v != x[0] || other.normal() == v {
		t.Errorf("%v isn't %v again", v, x[0])
	}
}

func TestNoisyFactorsRefusals(t *testing.T) {
	for _, e := range []NoisyFactors{{Seeds: 0, Distinguish: distinguish},
		{Seeds: 1001, Distinguish: distinguish},
		{Seeds: 1, Runs: 999, Distinguish: distinguish}, {Seeds: 1}} {
		e.Out = t.TempDir()
		if _, err := e.Run(t.Context()); err == nil {
			t.Errorf("%+v ran", e)
		}
	}
}

// TestNoisyFactorsRun runs the whole on few runs: files that hold what was returned, a
// second measurement of a case that gives the same, other seeds that don't, and a
// run that stops when it is told to.
func TestNoisyFactorsRun(t *testing.T) {
	e := &NoisyFactors{Out: t.TempDir(), Seeds: 2, Runs: 2000, Distinguish: distinguish}
	r, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var read NoisyFactorsResult
	b, err := os.ReadFile(filepath.Join(e.Out, "noisy-factors.json"))
	if err != nil || json.Unmarshal(b, &read) != nil || !reflect.DeepEqual(&read, r) {
		t.Errorf("noisy-factors.json isn't the result: %v", err)
	}
	csv, err := os.ReadFile(filepath.Join(e.Out, "noisy-factors.csv"))
	if lines := bytes.Count(csv, []byte("\n")); err != nil || lines != 1+2*12 {
		t.Errorf("noisy-factors.csv has %d lines: %v", lines, err)
	}
	mu := 2 * math.Sqrt(15) / r.Sigma
	for i, s := range noisyCases(r.Sigma)[7:9] { // loud enough for so few runs
		again, err := e.measure(t.Context(), s, mu)
		if err != nil || !slices.Equal(again.Measured, r.Cases[7+i].Measured) ||
			again.Measured[0] == again.Measured[1] {
			t.Errorf("measured %+v, then %+v: %v", r.Cases[7+i], again, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was ended returned %v", err)
	}
}

// lossLimit is the ratio for infinitely many factors: the root of the mean over s = 0, 1,
// ..., rounds-1 of (1 + a s)^2.
func lossLimit(rounds int, damping float64) float64 {
	sum := 0.0
	for s := range rounds {
		sum += (1 + damping*float64(s)) * (1 + damping*float64(s))
	}
	return math.Sqrt(sum / float64(rounds))
}
