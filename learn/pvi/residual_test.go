package pvi

import (
	"errors"
	"math"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// residualConfig is linear regression of a record a shard whose rounds from one on sum squares of residuals.
func residualConfig(f gauss.Family, from int) Config {
	c := clippedLinear(f)
	c.Beta = 0
	c.Clip = 60
	c.Features = 3
	c.NoiseSD = 0.7
	c.StartPrecision = 20
	c.Strategy = Virtual{Shards: 4096, ShardRows: 1}
	c.ResidualFrom = from
	return c
}

// TestResidualSensitivity: a record that replaces another moves the sum of a residual round by at most the
// sensitivity, and nearly as far, and leaves the count of shards; one that is added moves it as little; no
// term is longer than a party's bound takes it to be.
func TestResidualSensitivity(t *testing.T) {
	for _, rows := range []int{1, 3} {
		c := residualConfig(gauss.MeanField, 2)
		c.Strategy = Virtual{Shards: 4096, ShardRows: rows}
		limit, err := c.Sensitivity(ReplaceRecord)
		if err != nil {
			t.Fatal(err)
		}
		weights := []float64{1.5, -1, 0.5}
		sums := func(d bayes.Data) []int64 {
			l := learner(t, c, d, 1)
			p, err := l.ProposeResiduals(2, weights, l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			return p.Update
		}
		far := 0.0
		moved := func(a, b []int64) {
			square := 0.0
			for i, x := range a {
				square += float64(x-b[i]) * float64(x-b[i])
			}
			far = max(far, math.Sqrt(square)/float64(limit))
		}
		data := dense(c, 5, 30)
		data.Y[7] = weights[0]*data.X[7*3] - data.X[7*3+1] + 0.5
		before := sums(data)
		for _, y := range []float64{-3, 0, 1e3, -1e160, math.MaxFloat64} {
			other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
			other.Y[7] = y
			other.X[7*3] *= y
			after := sums(other)
			moved(before, after)
			if before[1] != after[1] {
				t.Errorf("%d records a shard: a record's value moves the count by %d", rows, after[1]-before[1])
			}
			moved(sums(bayes.Data{X: other.X[7*3 : 8*3], Y: other.Y[7:8]}), make([]int64, c.Dim()))
		}
		if far > 1 || far < 0.9 {
			t.Errorf("%d records a shard: a record moves the sum by %.3f of the sensitivity", rows, far)
		}
	}
}

// TestResidualIsTotal: for any record and weights the term is that of a share between 0 and 1.
func TestResidualIsTotal(t *testing.T) {
	c := residualConfig(gauss.MeanField, 2)
	values := []float64{0, -1, 1e-300, 1e200, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, y := range values {
		for _, x := range values {
			for _, w := range values {
				got := c.residual(bayes.Data{X: []float64{x, -x, 1}, Y: []float64{y}}, 0, []float64{w, w, 0.5})
				if !(got >= 0 && got <= 1) {
					t.Fatalf("target %g, columns %g, weights %g: a share of %g", y, x, w, got)
				}
			}
		}
	}
}

// TestUpTo: no share leaves the interval, also where the reach is between two floating-point numbers.
func TestUpTo(t *testing.T) {
	for _, reach := range []int64{1, 64, 1<<62 - 1, math.MaxInt64 - 1} {
		for _, share := range []float64{0, 0.3, math.Nextafter(1, 0), 1, math.Nextafter(1, 2), math.Inf(1)} {
			if got := upTo(reach, share); got < 0 || got > reach || share >= 1 && got != reach {
				t.Errorf("%g of %d: %d", share, reach, got)
			}
		}
	}
}

// TestResidualRoundsKeepTheState: neither the public state nor a factor changes, and a round that is not for
// residuals sums none.
func TestResidualRoundsKeepTheState(t *testing.T) {
	c := residualConfig(gauss.MeanField, 3)
	l := learner(t, c, dense(c, 4, 30), 1)
	if p := keepsState(t, c, l, 3); p.Update[1] == 0 || slices.Max(p.Update[2:]) != 0 {
		t.Errorf("update %v", p.Update)
	}
	if _, err := l.ProposeResiduals(2, make([]float64, 3), l.InitialState()); !errors.Is(err, ErrRound) {
		t.Errorf("residuals in a round that learns: %v, want ErrRound", err)
	}
}

func TestResidualConfig(t *testing.T) {
	good := residualConfig(gauss.MeanField, 5)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := good.Mechanism()
	without := good
	without.ResidualFrom = 0
	w, other := without.Mechanism()
	if err != nil || other != nil || m.Sensitivity != w.Sensitivity || m.PerParty != 2*w.PerParty {
		t.Errorf("mechanism %+v, without residuals %+v; %v, %v", m, w, err, other)
	}
	for name, change := range map[string]func(c *Config){
		"first round":    func(c *Config) { c.ResidualFrom = 1 },
		"before another": func(c *Config) { c.CurvatureFrom, c.CurvatureBound = 5, 1 },
		"no clip":        func(c *Config) { c.Clip = 0 },
		"coarse grid":    func(c *Config) { c.FracBits, c.Clip = 1, 8 },
		"local noise":    func(c *Config) { c.Strategy = Virtual{Shards: 9, ShardRows: 1, Local: true} },
		"whole parties":  func(c *Config) { c.Strategy = Virtual{Shards: 9} },
		"dataset":        func(c *Config) { c.Strategy = Dataset{} },
	} {
		c := good
		change(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
