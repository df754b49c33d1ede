package global

import (
	"context"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/model"
)

func smallNatural() Config {
	c := small()
	c.Optimiser = Natural
	c.LearningRate = 0.2
	c.SDUnit = 3
	c.InitialSD = 0.25
	return c
}

// TestNaturalConvergesToGlobalVI: with every record in every round and no noise the run ends
// where the derivative of the global free energy, as package model computes it for all
// records at once, is nothing.
func TestNaturalConvergesToGlobalVI(t *testing.T) {
	cfg := smallNatural()
	cfg.Clip, cfg.FracBits = 1000, 28
	data := classes(1, 100, cfg.Features)
	raw, err := run(t.Context(), cfg, []*Learner{learner(t, cfg, data)}, onSeeds(1), nil, 200)
	if err != nil {
		t.Fatal(err)
	}
	mean, sd, err := cfg.moments(raw)
	if err != nil {
		t.Fatal(err)
	}
	d := cfg.Features
	variance := make([]float64, d)
	prior := make([]float64, 2*d)
	g := make([]float64, 2*d)
	for i, s := range sd {
		variance[i], prior[d+i] = s*s, -0.5*cfg.PriorPrecision
	}
	model.NewLogistic(d, data.X, data.Y, 1, 0.1).Gradient(model.NewWorkspace(d, 100), g[:d], g[d:], mean,
		variance, prior)
	// Rounding 100 gradients to the grid errs by at most 100 * 2^-29 a coordinate, over a
	// standard deviation of 0.1 at least: 2e-6.
	if n := floats.Norm(g, math.Inf(1)); n > 1e-4 || floats.Norm(mean, 2) < 0.5 {
		t.Errorf("the free energy still climbs at %v: gradient %v", mean, g)
	}
}

// TestNaturalFold against the textbook's step in plain floating point, with sums that are
// noise mostly, so that precisions meet their floor.
func TestNaturalFold(t *testing.T) {
	cfg := smallNatural()
	cfg.RateDecay = 0.05
	cfg.SampleRate = 0.25
	cfg.PrecisionFloor = 8
	d := cfg.Features
	rng := mathrand.New(seeded(9))
	raw := cfg.Initial()
	h := make([]float64, d)
	p := slices.Repeat([]float64{16}, d)
	floored := 0
	for s := 1; s <= 100; s++ {
		sum := make([]int64, 2*d)
		rate := 0.2 / (1 + 0.05*float64(s-1))
		for i := range d {
			sum[i], sum[d+i] = rng.Int64N(1<<22)-1<<20, rng.Int64N(1<<22)-5<<19
			g := math.Ldexp(float64(sum[i]), -19) / 0.25 * math.Sqrt(p[i])
			c := -math.Ldexp(float64(sum[d+i]), -19) / 0.25 * p[i] / 3
			h[i], p[i] = (1-rate)*h[i]+rate*(g+c*h[i]/p[i]), (1-rate)*p[i]+rate*(1+c)
			if p[i] < 8 {
				p[i] = 8
				floored++
			}
		}
		var err error
		if raw, err = cfg.Fold(s, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	mean, sd, err := cfg.moments(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d {
		if math.Abs(mean[i]-h[i]/p[i]) > 1e-6*(1+math.Abs(mean[i])) ||
			math.Abs(1/(sd[i]*sd[i])-p[i]) > 1e-6*p[i] {
			t.Errorf("weight %d: %v, %v, want %v, %v", i, mean[i], 1/(sd[i]*sd[i]), h[i]/p[i], p[i])
		}
	}
	if floored == 0 || floored == 100*d {
		t.Errorf("the floor was met %d times: the test sees one side of it", floored)
	}
}

// TestNaturalFoldIsFixed pins the integers of a run: every member must compute the same
// state.
func TestNaturalFoldIsFixed(t *testing.T) {
	cfg := smallNatural()
	cfg.Averaging, cfg.PrecisionFloor = 3, 2
	raw, rng := cfg.Initial(), mathrand.New(seeded(11))
	for s := 1; s <= 50; s++ {
		sum := make([]int64, cfg.Dim())
		for i := range sum {
			sum[i] = rng.Int64N(1<<20) - 1<<19
			if i >= cfg.Features {
				sum[i] = -rng.Int64N(1 << 21)
			}
		}
		var err error
		if raw, err = cfg.Fold(s, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	const want = "[2136074296 -7911412504] 18827693976 14562879346"
	if got := fmt.Sprint(raw[:2], raw[cfg.Features], raw[len(raw)-1]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNaturalSensitivity: for every public state and two values of a record, the sums
// differ by at most 2B on exact integers, and some come near it.
func TestNaturalSensitivity(t *testing.T) {
	cfg := smallNatural()
	cfg.SampleRate = 0.5
	cfg.Clip = 0.1
	cfg.SDUnit = 1
	bound, err := cfg.sensitivity()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Byte().Draw(t, "coins")
		data := classes(rapid.Byte().Draw(t, "data"), 6, cfg.Features)
		other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
		for j := range cfg.Features {
			data.X[j], other.X[j] = rapid.Float64Range(-50, 50).Draw(t, "x"),
				rapid.Float64Range(-50, 50).Draw(t, "x'")
		}
		raw := cfg.Initial()
		for i := range cfg.Features {
			raw[i] = rapid.Int64Range(-3<<paramBits, 3<<paramBits).Draw(t, "h")
			raw[cfg.Features+i] = rapid.Int64Range(1, 1000<<paramBits).Draw(t, "precision")
		}
		if diff := apart(t, cfg, raw, data, other, seed); !fixedpoint.NormSquaredAtMost(diff, bound) {
			t.Fatalf("neighbouring sums are %v apart, the bound is %d", diff, bound)
		}
	})
	// A record and its mirror image come near the bound: it is not loose.
	one, other := classes(1, 1, cfg.Features), classes(1, 1, cfg.Features)
	for j := range one.X {
		one.X[j], other.X[j] = 50, -50
	}
	cfg.SampleRate = 1
	if fixedpoint.NormSquaredAtMost(apart(t, cfg, cfg.Initial(), one, other, 1), bound/10*9) {
		t.Error("mirror images are less than nine tenths of the bound apart")
	}
}

// apart is the difference of two parties' sums over the same coins.
func apart(t interface{ Fatal(...any) }, cfg Config, raw []int64, a, b bayes.Data, coins byte) []int64 {
	var diff []int64
	for _, d := range []bayes.Data{a, b} {
		l, err := NewLearner(cfg, d)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Propose(context.Background(), 1, raw, seeded(coins))
		if err != nil {
			t.Fatal(err)
		}
		if diff == nil {
			diff = p.Update
			continue
		}
		for i, x := range p.Update {
			diff[i] -= x
		}
	}
	return diff
}

// TestNaturalStateIsChecked: a state with an impossible precision is rejected.
func TestNaturalStateIsChecked(t *testing.T) {
	cfg := smallNatural()
	for _, at := range []int{cfg.Features, 3*cfg.Dim() + cfg.Features} {
		raw := cfg.Initial()
		raw[at] = 0
		if _, err := cfg.Fold(1, raw, make([]int64, cfg.Dim())); err == nil {
			t.Errorf("a precision of 0 at %d was taken", at)
		}
	}
	for field, spoil := range map[string]func(*Config){
		"sd_unit":         func(c *Config) { c.SDUnit = -1 },
		"precision_floor": func(c *Config) { c.PrecisionFloor = 0.5 },
		"initial_sd":      func(c *Config) { c.InitialSD = 0x1p-13 },
	} {
		c := smallNatural()
		spoil(&c)
		if err := c.Validate(); !containsField(err, field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	adam := small()
	adam.SDUnit, adam.PrecisionFloor = 1, 1
	if err := adam.Validate(); !containsField(err, "sd_unit") || !containsField(err, "precision_floor") {
		t.Errorf("Adam has neither: %v", err)
	}
}
