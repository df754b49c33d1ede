package pvi

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// methodConfigs is a small valid configuration of every strategy.
func methodConfigs() map[StrategyName]Config {
	fit := Fit{Steps: 5, LearningRate: 0.05}
	descent := Optimisation{Steps: 5, LearningRate: 0.05, Sampling: SamplingPoisson, SampleRate: 0.2}
	base := logisticConfig()
	base.Beta, base.Clip = 0, 1
	linear := linearConfig(gauss.Full)
	linear.Clip = 1
	out := map[StrategyName]Config{}
	for _, s := range []Strategy{Dataset{Fit: fit}, Virtual{Shards: 3, Fit: fit},
		Averaging{Shards: 3, Fit: fit},
		Perturbation{Fit: fit}, descent, BCMSame{descent}, BCMSplit{descent, 3}} {
		c := base
		c.Strategy = s
		if c.traits().once {
			c.Damping, c.DampingDecay = 1, 0
		}
		out[s.Name()] = c
	}
	hybrid := hybrid{Optimisation{Steps: 3, LearningRate: 0.05}, 2}
	for _, s := range []Strategy{Analytic{}, hybrid} {
		c := linear
		c.Strategy = s
		out[s.Name()] = c
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
		case NameVirtual:
			want.PerParty = 3 << 20
		case NameAveraging: // three terms of a third, rounded down
			want.Clip = (1 << 20) / 3
			want.Sensitivity = 2 * ((1 << 20) / 3)
			want.PerParty = 3 * ((1 << 20) / 3)
		case NamePerturbation, NameAnalytic:
			want.Local, want.PerParty = true, defaultUpdateClip<<20
		case NameOptimisation, NameBCMSame, NameBCMSplit:
			want.Local, want.PerParty = true, defaultUpdateClip<<20
			want.Steps = 5
			want.Sampling = SamplingPoisson
			want.SampleRate = 0.2
		case NameHybrid:
			want.Local = true
			want.PerParty = defaultUpdateClip << 20
			want.Steps = 3
		}
		want.Summed, want.Released = s == NamePerturbation, want.Local
		if m != want {
			t.Errorf("%s: %+v, want %+v", s, m, want)
		}
	}
}

// A configuration without a privacy proof has no mechanism.
func TestMechanismRefusals(t *testing.T) {
	noisy := logisticConfig()
	noisy.Beta, noisy.Factors = 0, FactorsNoisy
	if _, err := noisy.Mechanism(); !errors.Is(err, ErrUnproven) {
		t.Errorf("joint noise in private factors: %v", err)
	}
	noisy = as(noisy, noisy.name(), func(p *Params) { p.Local = true })
	if m, err := noisy.Mechanism(); err != nil || !m.Local {
		t.Errorf("released factors: %+v, %v", m, err)
	}
	for s, c := range methodConfigs() {
		c.Clip = 0
		c = as(c, s, func(p *Params) { p.StatisticClip = 0 })
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
		if err != nil || err2 != nil || got != uint64(c.params().Shards)*m.Sensitivity {
			t.Errorf("%s: %v, %v, %v", s, got, err, err2)
		}
	}
}

// badParams are changes that make a valid configuration invalid, with the field to name.
var badParams = []struct {
	field string
	name  StrategyName
	spoil func(c *Config, p *Params)
}{
	{"local", NameOptimisation, func(c *Config, p *Params) { p.Local = false }},
	{"local", NamePerturbation, func(c *Config, p *Params) { p.Local = false }},
	{"factors", NameVirtual, func(c *Config, p *Params) { c.Factors = "old" }},
	{"factors", NameVirtual, func(c *Config, p *Params) { c.Factors = FactorsTied }},
	{"factors", NameVirtual, func(c *Config, p *Params) { c.Factors, c.Beta = FactorsPrivate, 0.5 }},
	{"factors", NamePerturbation, func(c *Config, p *Params) { c.Factors = FactorsPrivate }},
	{"optimiser", NameOptimisation, func(c *Config, p *Params) { p.Optimiser = "newton" }},
	{"optimiser", NameHybrid, func(c *Config, p *Params) { p.Optimiser = Proximal }},
	{"sd_unit", NameOptimisation, func(c *Config, p *Params) { p.SDUnit = -1 }},
	{"sd_unit", NameVirtual, func(c *Config, p *Params) { p.SDUnit = 1 }},
	{"sd_unit", NameHybrid, func(c *Config, p *Params) { p.SDUnit = 1 }},
	{"optimiser", NameVirtual, func(c *Config, p *Params) { p.Optimiser = Adam }},
	{"optimiser", NameHybrid, func(c *Config, p *Params) { p.Optimiser = Natural }},
	{"optimiser", NameAnalytic, func(c *Config, p *Params) { p.Optimiser = Natural }},
	{"learning_rate", NameOptimisation, func(c *Config, p *Params) {
		p.Optimiser,
			p.LearningRate = Natural, 1.5
	}},
	{"optimiser", NameVirtual, func(c *Config, p *Params) {
		c.Model = bayes.Linear
		c.NoiseSD = 1
		p.Steps = 0
		p.LearningRate = 0
		p.Optimiser = Natural
	}},
	{"shard_power", NameVirtual, func(c *Config, p *Params) { p.ShardPower = -1 }},
	{"shard_power", NameVirtual, func(c *Config, p *Params) { p.ShardPower = 2.1 }},
	{"shard_power", NameVirtual, func(c *Config, p *Params) { p.ShardPower = math.NaN() }},
	{"shard_power", NameAveraging, func(c *Config, p *Params) { p.ShardPower = 1 }},
	{"shard_power", NameDataset, func(c *Config, p *Params) { p.ShardPower = 1 }},
	{"sampling", NameOptimisation, func(c *Config, p *Params) { p.Sampling = "shuffle" }},
	{"sampling", NameVirtual, func(c *Config, p *Params) {
		p.Sampling, p.SampleRate = SamplingPoisson,
			0.5
	}},
	{"sample_rate", NameOptimisation, func(c *Config, p *Params) { p.Sampling = "" }},
	{"sample_rate", NameOptimisation, func(c *Config, p *Params) { p.SampleRate = 1.5 }},
	{"sample_rate", NameOptimisation, func(c *Config, p *Params) { p.SampleRate = 1e-12 }},
	{"steps", NameOptimisation, func(c *Config, p *Params) { p.Steps = 0 }},
	{"learning_rate", NameOptimisation, func(c *Config, p *Params) { p.LearningRate = 0 }},
	{"statistic_clip", NameHybrid, func(c *Config, p *Params) { p.StatisticClip = 0 }},
	{"statistic_clip", NameOptimisation, func(c *Config, p *Params) { p.StatisticClip = 1 }},
	{"strategy", NameAnalytic, func(c *Config, p *Params) {
		c.Model = bayes.Logistic
		c.Family = gauss.MeanField
		c.NoiseSD = 0
	}},
	{"strategy", NameOptimisation, func(c *Config, p *Params) { c.Model, c.Parameters = "external", 3 }},
	{"strategy", NameAveraging, func(c *Config, p *Params) {
		c.Model = "external"
		c.Parameters = 3
		p.Steps = 0
		p.LearningRate = 0
	}},
	{"update_clip", NameVirtual, func(c *Config, p *Params) { c.UpdateClip = 1 }},
	{"update_clip", NameOptimisation, func(c *Config, p *Params) { c.UpdateClip = 1e-9 }},
	{"shards", NameAveraging, func(c *Config, p *Params) { p.Shards = 0 }},
	{"shards", NameOptimisation, func(c *Config, p *Params) { p.Shards = 2 }},
	{"start_precision", NameVirtual, func(c *Config, p *Params) { c.StartPrecision = -1 }},
	{"parties", NameBCMSplit, func(c *Config, p *Params) { p.Parties = 0 }},
	{"parties", NameBCMSame, func(c *Config, p *Params) { p.Parties = 2 }},
	{"damping", NameBCMSame, func(c *Config, p *Params) { c.Damping = 0.5 }},
	{"beta", NameBCMSame, func(c *Config, p *Params) { c.Beta = 0.5 }},
}

func TestMethodValidateNamesTheField(t *testing.T) {
	for _, c := range badParams {
		t.Run(string(c.name)+"/"+c.field, func(t *testing.T) {
			cfg := methodConfigs()[c.name]
			if err := cfg.Validate(); err != nil {
				t.Fatal(err)
			}
			p := cfg.Strategy.Params()
			c.spoil(&cfg, &p)
			s, err := p.Strategy(c.name)
			if err == nil {
				cfg.Strategy = s
				err = cfg.Validate()
			}
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+c.field+" is") {
				t.Errorf("%v", err)
			}
		})
	}
}

// The canonical form of configurations, which is part of signed plans, does not change.
func TestOldJSONStays(t *testing.T) {
	const old = `{"model":"logistic","family":"mean-field","strategy":"virtual","features":4,"shards":3,` +
		`"prior_precision":1,"noise_sd":0,"clip":0.05,"frac_bits":20,"damping_bits":16,"damping":0.1,` +
		`"damping_decay":0.1,"beta":0.75,"steps":5,"learning_rate":0.05,"precision_floor":1}`
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
