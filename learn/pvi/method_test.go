package pvi

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"choir/learn/gauss"
)

// methodConfigs is a small valid configuration of every strategy.
func methodConfigs() map[Strategy]Config {
	base := logisticConfig()
	base.Beta, base.Shards, base.Clip = 0, 1, 1
	records := base
	records.Local, records.Sampling, records.SampleRate = true, SamplingPoisson, 0.2
	linear := linearConfig(gauss.Full)
	linear.Clip, linear.Local = 1, true
	out := map[Strategy]Config{Dataset: base, Virtual: base, Averaging: base, Perturbation: records, Optimisation: records, Analytic: linear, Hybrid: linear, BCMSame: records, BCMSplit: records}
	for s, c := range out {
		c.Strategy = s
		switch s {
		case Virtual, Averaging:
			c.Shards = 3
		case Perturbation:
			c.Sampling, c.SampleRate = SamplingNone, 0
		case Hybrid:
			c.Steps, c.LearningRate, c.StatisticClip = 3, 0.05, 2
		case BCMSame, BCMSplit:
			c.Damping, c.DampingDecay = 1, 0
			if s == BCMSplit {
				c.Parties = 3
			}
		}
		out[s] = c
	}
	return out
}

// Every strategy's mechanism by hand: what plans rest on.
func TestMechanisms(t *testing.T) {
	for s, c := range methodConfigs() {
		m, err := c.Mechanism()
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		want := Mechanism{Clip: 1 << 20, Sensitivity: 2 << 20, Dim: c.Dim(), Steps: 1, PerParty: 1 << 20}
		switch s {
		case Virtual:
			want.PerParty = 3 << 20
		case Averaging: // three terms of a third, rounded down
			want.Clip, want.Sensitivity, want.PerParty = (1<<20)/3, 2*((1<<20)/3), 3*((1<<20)/3)
		case Perturbation, Analytic:
			want.Local, want.PerParty = true, DefaultUpdateClip<<20
		case Optimisation, BCMSame, BCMSplit:
			want.Local, want.PerParty = true, DefaultUpdateClip<<20
			want.Steps, want.Sampling, want.SampleRate = 5, SamplingPoisson, 0.2
		case Hybrid:
			want.Local, want.PerParty, want.Steps = true, DefaultUpdateClip<<20, 3
		}
		if m != want {
			t.Errorf("%s: %+v, want %+v", s, m, want)
		}
	}
}

// A configuration whose privacy isn't proven has no mechanism, whatever the rest says.
func TestMechanismRefusals(t *testing.T) {
	noisy := logisticConfig()
	noisy.Beta, noisy.Factors = 0, FactorsNoisy
	if _, err := noisy.Mechanism(); !errors.Is(err, ErrUnproven) {
		t.Errorf("joint noise in private factors: %v", err)
	}
	noisy.Local = true
	if m, err := noisy.Mechanism(); err != nil || !m.Local {
		t.Errorf("released factors: %+v, %v", m, err)
	}
	for s, c := range methodConfigs() {
		c.Clip, c.StatisticClip = 0, 0
		if _, err := c.Mechanism(); !errors.Is(err, ErrUnbounded) {
			t.Errorf("%s without a clip: %v", s, err)
		}
	}
}

// A party's records may all change, so strategies that clip records bound no party.
func TestPartySensitivity(t *testing.T) {
	for s, c := range methodConfigs() {
		got, err := c.Sensitivity(ReplaceParty)
		if c.stepped() {
			if !errors.Is(err, ErrUnbounded) {
				t.Errorf("%s: %v, %v", s, got, err)
			}
			continue
		}
		m, err2 := c.Mechanism()
		if err != nil || err2 != nil || got != uint64(c.Shards)*m.Sensitivity {
			t.Errorf("%s: %v, %v, %v", s, got, err, err2)
		}
	}
}

func TestMethodValidateNamesTheField(t *testing.T) {
	for _, c := range []struct {
		field string
		s     Strategy
		spoil func(*Config)
	}{
		{"local", Optimisation, func(c *Config) { c.Local = false }},
		{"local", Perturbation, func(c *Config) { c.Local = false }},
		{"factors", Virtual, func(c *Config) { c.Factors = "old" }},
		{"factors", Virtual, func(c *Config) { c.Factors = FactorsTied }},
		{"factors", Virtual, func(c *Config) { c.Factors, c.Beta = FactorsPrivate, 0.5 }},
		{"factors", Perturbation, func(c *Config) { c.Factors = FactorsPrivate }},
		{"optimiser", Optimisation, func(c *Config) { c.Optimiser = "newton" }},
		{"optimiser", Hybrid, func(c *Config) { c.Optimiser = Proximal }},
		{"sd_unit", Optimisation, func(c *Config) { c.SDUnit = -1 }},
		{"sd_unit", Virtual, func(c *Config) { c.SDUnit = 1 }},
		{"sd_unit", Hybrid, func(c *Config) { c.SDUnit = 1 }},
		{"optimiser", Virtual, func(c *Config) { c.Optimiser = Adam }},
		{"optimiser", Hybrid, func(c *Config) { c.Optimiser = Natural }},
		{"optimiser", Analytic, func(c *Config) { c.Optimiser = Natural }},
		{"learning_rate", Optimisation, func(c *Config) { c.Optimiser, c.LearningRate = Natural, 1.5 }},
		{"optimiser", Virtual, func(c *Config) {
			c.Model, c.NoiseSD, c.Steps, c.LearningRate, c.Optimiser = Linear, 1, 0, 0, Natural
		}},
		{"shard_power", Virtual, func(c *Config) { c.ShardPower = -1 }},
		{"shard_power", Virtual, func(c *Config) { c.ShardPower = 2.1 }},
		{"shard_power", Virtual, func(c *Config) { c.ShardPower = math.NaN() }},
		{"shard_power", Averaging, func(c *Config) { c.ShardPower = 1 }},
		{"shard_power", Dataset, func(c *Config) { c.ShardPower = 1 }},
		{"sampling", Optimisation, func(c *Config) { c.Sampling = "shuffle" }},
		{"sampling", Virtual, func(c *Config) { c.Sampling, c.SampleRate = SamplingPoisson, 0.5 }},
		{"sample_rate", Optimisation, func(c *Config) { c.Sampling = "" }},
		{"sample_rate", Optimisation, func(c *Config) { c.SampleRate = 1.5 }},
		{"sample_rate", Optimisation, func(c *Config) { c.SampleRate = 1e-12 }},
		{"steps", Optimisation, func(c *Config) { c.Steps = 0 }},
		{"learning_rate", Optimisation, func(c *Config) { c.LearningRate = 0 }},
		{"statistic_clip", Hybrid, func(c *Config) { c.StatisticClip = 0 }},
		{"statistic_clip", Optimisation, func(c *Config) { c.StatisticClip = 1 }},
		{"strategy", Analytic, func(c *Config) {
			c.Model, c.Family, c.NoiseSD, c.Steps, c.LearningRate = Logistic, gauss.MeanField, 0, 5, 0.1
		}},
		{"strategy", Optimisation, func(c *Config) { c.Model, c.Parameters = "external", 3 }},
		{"strategy", Averaging, func(c *Config) { c.Model, c.Parameters, c.Steps, c.LearningRate = "external", 3, 0, 0 }},
		{"update_clip", Virtual, func(c *Config) { c.UpdateClip = 1 }},
		{"update_clip", Optimisation, func(c *Config) { c.UpdateClip = 1e-9 }},
		{"shards", Averaging, func(c *Config) { c.Shards = 0 }},
		{"shards", Optimisation, func(c *Config) { c.Shards = 2 }},
		{"start_precision", Virtual, func(c *Config) { c.StartPrecision = -1 }},
		{"parties", BCMSplit, func(c *Config) { c.Parties = 0 }},
		{"parties", BCMSame, func(c *Config) { c.Parties = 2 }},
		{"damping", BCMSame, func(c *Config) { c.Damping = 0.5 }},
		{"beta", BCMSame, func(c *Config) { c.Beta = 0.5 }},
	} {
		cfg := methodConfigs()[c.s]
		if err := cfg.Validate(); err != nil {
			t.Fatalf("%s: %v", c.s, err)
		}
		c.spoil(&cfg)
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+c.field+" is") {
			t.Errorf("%s, %s: %v", c.s, c.field, err)
		}
	}
}

// Configurations from before there were methods read and write as they did: they stand
// in signed plans, byte for byte.
func TestOldJSONStays(t *testing.T) {
	const old = `{"model":"logistic","family":"mean-field","strategy":"virtual","features":4,"shards":3,"prior_precision":1,"noise_sd":0,"clip":0.05,"frac_bits":20,` +
		`"damping_bits":16,"damping":0.1,"damping_decay":0.1,"beta":0.75,"steps":5,"learning_rate":0.05,"precision_floor":1}`
	var c Config
	if err := json.Unmarshal([]byte(old), &c); err != nil {
		t.Fatal(err)
	}
	if c != logisticConfig() {
		t.Errorf("read as %+v", c)
	}
	if again, err := json.Marshal(c); err != nil || string(again) != old {
		t.Errorf("written as %s, %v", again, err)
	}
}
