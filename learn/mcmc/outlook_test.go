package mcmc

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOutlook: warnings about plans at epsilon 1 and delta 1e-5. In such worlds predictions were worse
// than the class frequencies, or intervals of chains covered next to nothing.
func TestOutlook(t *testing.T) {
	for _, c := range []struct {
		name   string
		method Method
		n, d   int
		rounds int
		noise  float64 // of a round, over a record's bound
		want   string
	}{
		{"few records", Trace, 1000, 21, 100, 79, "noise may drown 1000 records of 21 columns"},
		{"enough records", Trace, 20000, 21, 100, 79, ""},
		{"a slow walk", Penalty, 20000, 4, 500, 60, "under this noise the chain forgets"},
		{"a slow Langevin chain", Langevin, 20000, 21, 500, 176, "noise moves a record's log-odds by 0.78"},
		{"a slow Hamiltonian chain", HMC, 20000, 4, 500, 60, "under this noise the chain forgets"},
		{"a good chain", Langevin, 1000000, 4, 500, 176, ""},
		{"no noise", Penalty, 100, 4, 500, 0, ""},
	} {
		cfg := config(c.method, c.n, c.d)
		cfg.Clip, cfg.Rounds = 0, c.rounds
		sd := math.Ldexp(c.noise, FracBits)
		got := Outlook(cfg, Public{Variance: sd * sd})
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestHeld: intervals from normal chains of so many relaxations hold the truth as often as a warning says.
// The formula takes the draws' variance for its mean, which costs .05 at 4 relaxations. The seed is fixed.
func TestHeld(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 20))
	for _, n := range []float64{2, 4, 10, 30} {
		const chains, steps = 20_000, 60
		keep := math.Exp(-0.8 * n / steps)
		in := 0.0
		for range chains {
			x, sum, square := rng.NormFloat64(), 0.0, 0.0
			for range steps {
				x = keep*x + math.Sqrt(1-keep*keep)*rng.NormFloat64()
				sum += x / steps
				square += x * x / steps
			}
			if math.Abs(rng.NormFloat64()-sum) < 1.644854*math.Sqrt(square-sum*sum) {
				in += 1. / chains
			}
		}
		if math.Abs(in-held(n)) > 0.06 {
			t.Errorf("%v relaxations: %.3f of the intervals hold the truth, want %.3f", n, in, held(n))
		}
	}
}
