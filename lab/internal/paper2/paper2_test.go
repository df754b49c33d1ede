package paper2

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/lab/study/studytest"
	"choir/learn/mcmc"
	"choir/privacy"
)

func TestQuick(t *testing.T) {
	studytest.Quick(t, Studies(), study.Options{Transport: bed.Clear})
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// TestAccounts: values that were computed independently.
func TestAccounts(t *testing.T) {
	for alpha, want := range map[float64][2]float64{
		2:  {0.3581391622471275, 0.009026371414284706},
		3:  {0.185656575150874, 0.011073190023981425},
		10: {0.06491043574269713, 0.026000404960374843},
		20: {0.0679578048712279, 0.04932574595610354},
	} {
		near(t, "Theorem 2", printed(alpha, 1000), want[0], 1e-9)
		near(t, "Theorem 2, repaired", repaired(alpha, 1000), want[1], 1e-9)
	}
	const b, n, rounds, delta = 1000, 1000000, 20000, 1e-6
	public := func(alpha float64, b int) float64 { return 2 * alpha / float64(b) }
	for _, c := range []struct {
		batch func(alpha float64, b int) float64
		tight bool
		want  float64
	}{{printed, false, 1.0004195705317964}, {printed, true, 0.8368431774430657},
		{repaired, false, 0.24290435681309067}, {repaired, true, 0.17920208441215368},
		{public, false, 0.22312970321024383}, {public, true, 0.1619715233009267}} {
		near(t, "Corollary 2", corollary(c.batch, b, n, rounds, delta, c.tight), c.want, 1e-6)
	}
	for _, c := range []struct {
		n, rounds int
		q, want   float64
	}{{100000, 5000, 0.001, 0.7857307614049299}, {1000000, 5000, 0.005, 2.542487826161451},
		{10000000, 5000, 0.01, 5.664999298429786}, {1000000, 1000, 0.001, 0.22578389827861373},
		{10000000, 100000, 0.001, 2.4079500026682936}} {
		size := int(c.q * float64(c.n))
		near(t, "Figure 1", corollary(printed, size, c.n, c.rounds, 1/float64(c.n), false), c.want, 1e-6)
	}
	near(t, "all records", full(b, n, rounds, delta), 0.020524550674878045, 1e-6)
	near(t, "Theorem 1, tight", privacy.GaussianEpsilon(0.02*math.Sqrt(1000/2.), 1e-5), 1.7600571495138908, 1e-6)
	e, err := sampled(1, b, n, rounds, delta)
	if err != nil || !(e >= 0.0299 && e <= 0.0308) {
		t.Errorf("batches under public noise of variance 1 spend %v, %v", e, err)
	}
}

// TestMixtureData: the first of the authors' records.
func TestMixtureData(t *testing.T) {
	x := mixtureData(20000)
	for i, want := range []float64{-1.3464687826408241, -1.0542128562701445, 0.4555267703685679} {
		near(t, "record", x[i], want, 1e-12)
	}
}

// TestScale: the acceptance of the penalty test's walk on a normal target is 2 Phi(-sqrt(l^2 +
// C)/2) for steps of fixed length l/sqrt(d), in every dimension, and a walk on a grid keeps the
// normal law: Barker's to 5e-4 in total variation, the penalty test's exactly.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	const draws = 60000
	for _, l := range []float64{0.5, 2.38} {
		mean := 0.0
		for range draws {
			// Along the step the state is standard normal, whatever the dimension.
			mean += mcmc.PenaltyAcceptance(-l*rng.NormFloat64()-l*l/2, 2) / draws
		}
		near(t, "acceptance", mean, math.Erfc(math.Sqrt((l*l+2)/8)), 0.02)
	}
	for _, sd := range []float64{1, 2.4} {
		correction, err := mcmc.Correction(2)
		if err != nil {
			t.Fatal(err)
		}
		barker := stationary(sd, func(d float64) float64 { return correction.BarkerAcceptance(d, 2) })
		penalty := stationary(sd, func(d float64) float64 { return mcmc.PenaltyAcceptance(d, 2) })
		if barker < 1e-4 || barker > 6e-4 || penalty > 1e-9 {
			t.Errorf("steps of sd %v: total variation %.3g by Barker's test, %.3g by the penalty test", sd, barker,
				penalty)
		}
	}
}

// stationary is the total variation between N(0, 1) on a grid and the stationary law of a
// walk with normal steps, by iteration.
func stationary(sd float64, accept func(delta float64) float64) float64 {
	const half, cell = 60, 0.1
	n := 2*half + 1
	target, steps := make([]float64, n), make([]float64, n)
	total, all := 0.0, 0.0
	for i := range n {
		x := cell * float64(i-half)
		target[i] = math.Exp(-x * x / 2)
		total += target[i]
		steps[i] = math.Exp(-x * x / 2 / sd / sd)
		all += steps[i]
	}
	move := make([]float64, n*n) // from i to j
	for i := range n {
		stay := 1.0
		for j := range n {
			if k := j - i + half; i != j && k >= 0 && k < n {
				x, y := cell*float64(i-half), cell*float64(j-half)
				move[i*n+j] = steps[k] / all * accept((x*x-y*y)/2)
				stay -= move[i*n+j]
			}
		}
		move[i*n+i] = stay
	}
	p := make([]float64, n)
	for i := range p {
		p[i] = target[i] / total
	}
	for range 300 {
		next := make([]float64, n)
		for i, w := range p {
			for j := range n {
				next[j] += w * move[i*n+j]
			}
		}
		p = next
	}
	distance := 0.0
	for i := range p {
		distance += math.Abs(p[i]-target[i]/total) / 2
	}
	return distance
}

// TestCurved: the posterior's mean and standard deviations, which were computed independently
// by Monte Carlo, and gradients against finite differences.
func TestCurved(t *testing.T) {
	c := newCurved()
	near(t, "mean of t1", c.mean[0], 0.041, 0.01)
	near(t, "mean of t2", c.mean[1], 2.7031, 0.004)
	at, h := point{0.1, 2.5}, 1e-6
	g := c.gradient(at)
	for j := range at {
		up, down := at, at
		up[j] += h
		down[j] -= h
		near(t, "gradient", (c.logPosterior(up)-c.logPosterior(down))/2/h, g[j], 1e-5)
	}
}
