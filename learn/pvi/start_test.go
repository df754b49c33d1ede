package pvi

import (
	"context"
	"errors"
	"math"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// Factors that start with a public precision change the path and not the end: linear
// regression still reaches the exact posterior, since each party removes its share of the
// start. With declared shares that do not add up to 1, the rest of the start remains.
func TestStartPrecisionIsTakenOut(t *testing.T) {
	for _, s := range []StrategyName{NameDataset, NameAveraging, NameVirtual} {
		for _, declared := range []float64{1, 0.5} {
			c := linearConfig(gauss.Full)
			c.Damping, c.StartPrecision = 0.5, 64
			c.StartSpread = 0.25
			c = as(c, s)
			if s != NameDataset {
				c = as(c, c.name(), func(p *Params) { p.Shards = 3 })
			}
			var ls []*Learner
			var all bayes.Data
			for i := range 4 {
				d := dense(c, uint64(i), 10+7*i)
				ls = append(ls, learner(t, c, d, declared/4))
				all.X, all.Y = append(all.X, d.X...), append(all.Y, d.Y...)
			}
			post, err := runReal(context.Background(), c, ls, 80)
			if err != nil {
				t.Fatal(err)
			}
			want := exactPosterior(c, all)
			for i := range c.Features {
				want[c.space().Index(i, i)] -= (1 - declared) * c.StartPrecision / 2
				want[i] += (1 - declared) * c.StartPrecision * 0.25 * model.Uniform(i)
			}
			for i, got := range post.Natural() {
				if math.Abs(got-want[i]) > 1e-9*(1+math.Abs(want[i])) {
					t.Errorf("%s, %v, coordinate %d: %v, want %v", s, declared, i, got, want[i])
				}
			}
		}
	}
}

// DP optimisation takes the same share out: without noise it ends where the exact
// posterior is, from any start.
func TestStartPrecisionOfOptimisation(t *testing.T) {
	c := linearConfig(gauss.Full)
	c.Features, c.NoiseSD = 2, 1
	c.StartPrecision = 16
	c = as(c, NameOptimisation)
	c.FracBits, c.DampingBits = 34, 10
	c = as(c, c.name(), func(p *Params) {
		p.Steps = 100
		p.LearningRate = 0.02
		p.Optimiser = SGD
	})
	data := dense(c, 5, 40)
	h := run(t, c, []*Learner{noised(t, learner(t, c, data, 1), 0, 1)}, nil, 30)
	if got := -2 * c.Reals(c.Initial())[c.Features]; got != 17 {
		t.Errorf("starts with precision %v, want 17", got)
	}
	got, want := c.Reals(h.Final()), exactPosterior(c, data)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
			t.Errorf("coordinate %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// A network may begin at spread means with the prior around 0.
func TestStartSpread(t *testing.T) {
	c := networkConfig()
	c.PriorSpread = 0
	c.StartPrecision = 200
	c.StartSpread = 0.5
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := c.Posterior(c.Initial())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range p.Mean() {
		if want := 0.5 * model.Uniform(i) * 200 / 210; math.Abs(m-want) > 1e-6 || c.prior()[i] != 0 {
			t.Fatalf("weight %d begins at %v, want %v", i, m, want)
		}
	}
	for _, bad := range []func(*Config){func(c *Config) { c.StartSpread = 0 },
		func(c *Config) { c.StartPrecision = 0 }, func(c *Config) { c.StartSpread = -1 },
		func(c *Config) { c.StartSpread = math.NaN() }} {
		broken := c
		bad(&broken)
		if err := broken.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", broken, err)
		}
	}
}

// A party with far fewer records than its share of the start counts on gives the share back, too: virtual
// clients end at the same posterior for all shares. Without the spare factor a precision of 500 to 1,000 of
// the start stays in it.
func TestStartOfFewRecords(t *testing.T) {
	c := logisticConfig()
	c.Strategy = Virtual{Shards: 200, ShardRows: 1, Fit: Fit{Steps: 2, LearningRate: 0.5, Optimiser: Natural}}
	c.Clip, c.Beta = 2, 0
	c.Damping, c.DampingDecay = 0.3, 0
	c.StartPrecision = 1200
	parts := []bayes.Data{dense(c, 1, 3), dense(c, 2, 197)}
	end := func(weights ...float64) []float64 {
		t.Helper()
		ls := []*Learner{learner(t, c, parts[0], weights[0]), learner(t, c, parts[1], weights[1])}
		h, err := Run(t.Context(), c, ls, nil, 60)
		if err != nil {
			t.Fatal(err)
		}
		return c.Reals(h.Final())
	}
	want := end(3.0/200, 197.0/200)
	for _, weights := range [][]float64{{0.5, 0.5}, {0.9, 0.1}} {
		for i, got := range end(weights...) {
			if math.Abs(got-want[i]) > 0.01*(1+math.Abs(want[i])) {
				t.Errorf("weights %v, coordinate %d: %v, want %v", weights, i, got, want[i])
			}
		}
	}
}

// The spare factor changes no bound: all updates of a party have at most Shards clips, whatever its share and
// number of records, and the state has the same length for every share.
func TestSpareFactorIsBounded(t *testing.T) {
	c := logisticConfig()
	c.StartPrecision = 1e6
	c.Beta = 0
	c.Strategy = Virtual{Shards: 40, ShardRows: 1, Fit: c.Strategy.(Virtual).Fit}
	most, err := c.perParty()
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{0, 1, 7, 39, 40, 60} {
		length := 0
		for _, weight := range []float64{0, 0.01, 0.5, 1} {
			l := learner(t, c, dense(c, 3, rows), weight)
			if n := len(l.InitialState()); length != 0 && n != length {
				t.Errorf("%d records, share %v: a state of %d bytes, want %d", rows, weight, n, length)
			} else {
				length = n
			}
			p, err := l.Propose(t.Context(), 1, c.Initial(), l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			if !fixedpoint.NormSquaredAtMost(p.Update, most) {
				t.Errorf("%d records, share %v: an update beyond %d", rows, weight, most)
			}
			if _, err := l.Settle(1, l.InitialState(), p.Memo); err != nil {
				t.Errorf("%d records, share %v: %v", rows, weight, err)
			}
		}
	}
}
