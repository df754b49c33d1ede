package pvi

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// networkConfig is a small network over two inputs and a bias, without clipping.
func networkConfig() Config {
	return Config{
		Model: bayes.BNN, Family: gauss.MeanField,
		Strategy: Dataset{Fit: Fit{Steps: 60, LearningRate: 0.03}}, Features: 3, Hidden: 10,
		Samples: 2, PriorSpread: 0.5, PriorPrecision: 10, FracBits: 20, DampingBits: 16,
		Damping: 0.5, PrecisionFloor: 10,
	}
}

func TestNetworkConfig(t *testing.T) {
	c := networkConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if want := 10*3 + 10 + 1; c.Weights() != want || c.Dim() != 2*want {
		t.Errorf("%d weights and %d numbers, want %d and %d", c.Weights(), c.Dim(), want, 2*want)
	}
	for field, spoil := range map[string]func(*Config){
		"hidden":       func(c *Config) { c.Hidden = 0 },
		"samples":      func(c *Config) { c.Samples = -1 },
		"prior_spread": func(c *Config) { c.PriorSpread = 0 },
		"family":       func(c *Config) { c.Family = gauss.Full },
		"noise_sd":     func(c *Config) { c.NoiseSD = 1 },
	} {
		bad := c
		spoil(&bad)
		if err := bad.Validate(); !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), ": "+field+" is") {
			t.Errorf("error %v, want one that names %s", err, field)
		}
		flat := logisticConfig()
		flat.Hidden = 1
		flat.Samples = 1
		flat.PriorSpread = 1
		if err := flat.Validate(); field[0] != 'f' && field[0] != 'n' &&
			!strings.Contains(err.Error(), ": "+field+" is") {
			t.Errorf("logistic regression with a hidden layer: %v, want an error that names %s", err, field)
		}
	}
}

// A configuration without a network is written as it always was: plans are hashed.
func TestNetworkFieldsLeaveOthersAlone(t *testing.T) {
	b, err := json.Marshal(logisticConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"hidden", "samples", "prior_spread"} {
		if strings.Contains(string(b), field) {
			t.Errorf("%s names %s", b, field)
		}
	}
}

// The prior's means break the symmetry between units, within the declared spread,
// and are the same on every machine: the first few are pinned, from SplitMix64 with big
// integers in another language.
func TestNetworkInitial(t *testing.T) {
	c := networkConfig()
	p, err := c.Posterior(c.Initial())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]bool{}
	low := 0
	high := 0
	for _, m := range p.Mean() {
		seen[m] = true
		if m < -0.5 || m > 0.5 {
			t.Errorf("prior mean %v, want at most 1/2 in size", m)
		}
		if m < 0 {
			low++
		} else {
			high++
		}
	}
	if len(seen) != c.Weights() || low < 10 || high < 10 {
		t.Errorf("%d different means of %d, %d below 0 and %d above", len(seen), c.Weights(), low, high)
	}
	want := []int64{-80188202003, 296543781541, 18165149520}
	for i, h := range c.Initial()[:len(want)] {
		if h != want[i] {
			t.Errorf("coordinate %d starts at %d, want %d", i, h, want[i])
		}
	}
}

func exclusiveOr(seed uint64, rows int) (d bayes.Data) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range rows {
		a, b := r.NormFloat64(), r.NormFloat64()
		d.X = append(d.X, a, b, 1)
		y := 0.0
		if a*b > 0 {
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	return d
}

// checkExclusiveOr checks that the last state predicts what no linear model could.
func checkExclusiveOr(t *testing.T, c Config, h History) {
	t.Helper()
	p, err := c.Posterior(h.Final())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Evaluate(exclusiveOr(9, 500))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("accuracy %.3f, log-likelihood %.3f", s.Accuracy, s.LogLikelihood)
	if s.Accuracy < 0.9 || s.LogLikelihood < -0.35 {
		t.Errorf("scores %+v, want accuracy .9 and log-likelihood -.35 or better; guessing has .5 and -.69",
			s)
	}
}

// TestNetworkLearnsFromParties: three parties' data together are learnt by PVI on the
// integers, which no linear model could, and the invariant holds.
func TestNetworkLearnsFromParties(t *testing.T) {
	c := networkConfig()
	var ls []*Learner
	for i := range 3 {
		l, err := NewLearner(c, exclusiveOr(uint64(i), 250), 1.0/3)
		if err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	h, err := Run(context.Background(), c, ls, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	checkExclusiveOr(t, c, h)
	sum := c.Initial()
	for i, l := range ls {
		rows, err := l.factors(h.States[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if at := addScaled(sum, sum, 1, row); at >= 0 {
				t.Fatal("overflow")
			}
		}
	}
	for i, raw := range h.Final() {
		if raw != sum[i] {
			t.Fatalf("coordinate %d: the state is %d, prior and factors make %d", i, raw, sum[i])
		}
	}
}

// TestNetworkLearnsPrivately: DP optimisation, whose steps clip every record's
// gradient to 1 and add noise of twice that, learns what no linear model could. The
// noise and the draws come from seeded readers: a fixed computation, which no bad luck
// can fail.
func TestNetworkLearnsPrivately(t *testing.T) {
	c := networkConfig()
	c.Clip, c.FracBits = 1, 16
	c.Damping = 0.4
	c = as(c, NameOptimisation, func(p *Params) {
		p.Steps = 20
		p.LearningRate = 0.03
	})
	c = as(c, c.name(), func(p *Params) {
		p.Local = true
		p.Sampling = SamplingPoisson
		p.SampleRate = 0.1
	})
	sigma := uint64(2 << c.FracBits)
	var ls []*Learner
	for i := range 3 {
		l, err := NewLearner(c, exclusiveOr(uint64(i), 1500), 1.0/3)
		if err != nil {
			t.Fatal(err)
		}
		if l, err = l.WithNoise(sigma*sigma, rand.NewChaCha8([32]byte{byte(i)})); err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	h, err := Run(context.Background(), c, ls, nil, 8)
	if err != nil {
		t.Fatal(err)
	}
	checkExclusiveOr(t, c, h)
}
