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

// logisticConfig is a small private configuration.
func logisticConfig() Config {
	return Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: Virtual{Shards: 3, Fit: Fit{Steps: 5, LearningRate: 0.05}}, Features: 4,
		PriorPrecision: 1, Clip: 0.05, FracBits: 20, DampingBits: 16, Damping: 0.1,
		DampingDecay: 0.1, Beta: 0.75, PrecisionFloor: 1,
	}
}

// linearConfig is a small configuration without clipping or damping.
func linearConfig(f gauss.Family) Config {
	return Config{
		Model: bayes.Linear, Family: f, Strategy: Dataset{}, Features: 4, PriorPrecision: 1,
		NoiseSD: 0.5, FracBits: 20, DampingBits: 16, Damping: 1, PrecisionFloor: 1,
	}
}

// as returns the configuration with the strategy of that name, with those of the
// configuration's parameters that it has, and changes to them.
func as(c Config, name StrategyName, changes ...func(p *Params)) Config {
	p := c.params()
	for _, change := range changes {
		change(&p)
	}
	c.Strategy = p.named(name)
	return c
}

func TestValidateAccepts(t *testing.T) {
	for _, c := range []Config{logisticConfig(), linearConfig(gauss.MeanField), linearConfig(gauss.Full)} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// badFields are changes that make a valid configuration invalid, with the field to name.
var badFields = []struct {
	field  string
	linear bool
	spoil  func(*Config)
}{
	{"model", false, func(c *Config) { c.Model = "probit" }},
	{"family", false, func(c *Config) { c.Family = "" }},
	{"family", false, func(c *Config) { c.Family = gauss.Full }},
	{"strategy", false, func(c *Config) { c.Strategy = nil }},
	{"features", false, func(c *Config) { c.Features = 0 }},
	{"features", false, func(c *Config) { c.Features = bayes.MaxFeatures + 1 }},
	{"shards", false, func(c *Config) { *c = as(*c, c.name(), func(p *Params) { p.Shards = 0 }) }},
	{"shards", false, func(c *Config) {
		*c = as(*c, c.name(),
			func(p *Params) { p.Shards = MaxShards + 1 })
	}},
	{"prior_precision", false, func(c *Config) { c.PriorPrecision = 0 }},
	{"prior_precision", false, func(c *Config) { c.PriorPrecision = math.NaN() }},
	{"prior_precision", false, func(c *Config) { c.PriorPrecision = 1e15 }},
	{"precision_floor", false, func(c *Config) { c.PrecisionFloor = 0 }},
	{"precision_floor", false, func(c *Config) { c.PrecisionFloor = 0x1p24 + 2 }},
	{"precision_floor", false, func(c *Config) { c.PrecisionFloor = 1e-12 }},
	{"noise_sd", false, func(c *Config) { c.NoiseSD = 1 }},
	{"noise_sd", true, func(c *Config) { c.NoiseSD = 0 }},
	{"noise_sd", true, func(c *Config) { c.NoiseSD = math.Inf(1) }},
	{"clip", false, func(c *Config) { c.Clip = -1 }},
	{"clip", false, func(c *Config) { c.Clip = math.Inf(1) }},
	{"clip", false, func(c *Config) { c.Clip = 1e-9 }},
	{"clip", false, func(c *Config) { c.Clip = 1e18 }},
	{"frac_bits", false, func(c *Config) { c.FracBits = 0 }},
	{"frac_bits", false, func(c *Config) { c.FracBits = 41 }},
	{"damping_bits", false, func(c *Config) { c.DampingBits = 25 }},
	{"damping", false, func(c *Config) { c.Damping = 0 }},
	{"damping", false, func(c *Config) { c.Damping = 1.5 }},
	{"damping", false, func(c *Config) { c.Damping = 1e-6 }},
	{"damping_decay", false, func(c *Config) { c.DampingDecay = -0.1 }},
	{"damping_decay", false, func(c *Config) { c.DampingDecay = math.NaN() }},
	{"beta", false, func(c *Config) { c.Beta = -0.1 }},
	{"beta", false, func(c *Config) { c.Beta = math.NaN() }},
	{"steps", false, func(c *Config) { *c = as(*c, c.name(), func(p *Params) { p.Steps = 0 }) }},
	{"steps", true, func(c *Config) { *c = as(*c, c.name(), func(p *Params) { p.Steps = 1 }) }},
	{"learning_rate", false, func(c *Config) {
		*c = as(*c, c.name(),
			func(p *Params) { p.LearningRate = 0 })
	}},
	{"learning_rate", true, func(c *Config) {
		*c = as(*c, c.name(),
			func(p *Params) { p.LearningRate = 0.1 })
	}},
}

func TestValidateNamesTheField(t *testing.T) {
	for _, tc := range badFields {
		t.Run(tc.field, func(t *testing.T) {
			c := logisticConfig()
			if tc.linear {
				c = linearConfig(gauss.Full)
			}
			tc.spoil(&c)
			err := c.Validate()
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+tc.field+" is") {
				t.Errorf("%+v: error %v, want one that names %s", c, err, tc.field)
			}
		})
	}
}

func TestValidateNamesEveryField(t *testing.T) {
	err := (Config{}).Validate()
	for _, field := range []string{"family", "features", "strategy", "model", "prior_precision",
		"precision_floor", "frac_bits", "damping"} {
		if err == nil || !strings.Contains(err.Error(), ": "+field+" is") {
			t.Errorf("the empty configuration's error doesn't name %s: %v", field, err)
		}
	}
}

func TestConfigSurvivesJSON(t *testing.T) {
	want := logisticConfig()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Config
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("%+v came back as %+v, %v", want, got, err)
	}
}

func TestSensitivity(t *testing.T) {
	c := logisticConfig()
	b := uint64(math.Floor(0.05 * (1 << 20)))
	for r, want := range map[Relation]uint64{
		ReplaceRecord: 2 * b, AddRemoveRecord: 2 * b, ReplaceParty: 6 * b, AddRemoveParty: 3 * b,
	} {
		if got, err := c.Sensitivity(r); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", r, got, err, want)
		}
	}
	if got, err := c.perParty(); err != nil || got != 3*b {
		t.Errorf("per party: %d, %v, want %d", got, err, 3*b)
	}
	if _, err := c.Sensitivity("whatever"); !errors.Is(err, ErrConfig) {
		t.Errorf("an unknown relation: %v, want ErrConfig", err)
	}
	c.Clip = 0
	if _, err := c.Sensitivity(ReplaceRecord); !errors.Is(err, ErrUnbounded) {
		t.Errorf("without clipping: %v, want ErrUnbounded", err)
	}
	if _, err := c.perParty(); !errors.Is(err, ErrUnbounded) {
		t.Errorf("without clipping, per party: %v, want ErrUnbounded", err)
	}
}
