package terms

import (
	"encoding/json"
	"errors"
	"math"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/defaults"
	"choir/learn/global"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// GlobalConfig describes a plan of global inference; see global.Config for the fields'
// meaning. What is zero isn't named and gets a default that follows from the plan.
type GlobalConfig struct {
	SchemaFile     string         `toml:"schema_file"`
	Schema         map[string]any `toml:"schema"`
	Model          string         `toml:"model"`           // default logistic
	PriorPrecision float64        `toml:"prior_precision"` // default 1
	InitialSD      float64        `toml:"initial_sd"`      // default 0.1
	InitialSpread  float64        `toml:"initial_spread"`
	Hidden         int            `toml:"hidden"`
	Samples        int            `toml:"samples"`
	Clip           float64        `toml:"clip"`          // default globalClip
	SampleRate     float64        `toml:"sample_rate"`   // default all, or 20,000 records
	Records        int64          `toml:"records"`       // default 200 a party
	MaxRecords     int64          `toml:"max_records"`   // default 2^20
	Optimiser      string         `toml:"optimiser"`     // default adam
	LearningRate   float64        `toml:"learning_rate"` // default by the rounds
	RateDecay      float64        `toml:"rate_decay"`
	SDUnit         float64        `toml:"sd_unit"`
	PrecisionFloor float64        `toml:"precision_floor"`
	Averaging      float64        `toml:"averaging"`
	// CurvatureRounds is how many of the last rounds reveal the curvature; see globalCurvature.
	CurvatureRounds int `toml:"curvature_rounds"`
	// CentreRounds is that of LearningConfig.
	CentreRounds *int `toml:"centre_rounds"`
}

func (g *GlobalConfig) schema() (string, map[string]any) { return g.SchemaFile, g.Schema }

func (g *GlobalConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	return g.Spec(t, schema)
}

// Spec is the application that the configuration describes under the terms, and its number of
// rounds.
func (g *GlobalConfig) Spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if g.Model == "" && !schema.Classification() {
		return nil, 0, suitsClasses("global", schema)
	}
	if err := suits(orElse(bayes.Model(g.Model), bayes.Logistic), schema); err != nil {
		return nil, 0, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	rounds := orElse(t.Rounds, defaults.GlobalRounds)
	if global.Optimiser(g.Optimiser) == global.Natural {
		rounds = orElse(t.Rounds, defaults.NaturalGlobalRounds)
	}
	able := orElse(bayes.Model(g.Model), bayes.Logistic) == bayes.Logistic
	measuring := t.measuring(g.CentreRounds, able, schema, centre.RoundsOf(rounds))
	if err := leftToLearn(measuring, rounds); err != nil {
		return nil, 0, err
	}
	if measuring > 0 {
		schema = centre.Schema(schema, nil)
	}
	cfg, err := g.config(t, schema, rounds, measuring)
	if err != nil {
		return nil, 0, err
	}
	cfg = t.coarsened(globalCurvature(cfg, schema, rounds-measuring, g.CurvatureRounds), rounds)
	return &app.GlobalVI{Version: 1, Global: cfg, Schema: json.RawMessage(canonical), CentreRounds: measuring},
		rounds, nil
}

// config is the configuration with defaults for what isn't named, for so many rounds in all of which the
// first measure centres.
func (g *GlobalConfig) config(t Terms, schema *dataset.Schema, rounds, measuring int) (global.Config, error) {
	f := factsOf(schema, rounds, measuring)
	f.Parties = t.parties()
	f.Records = g.Records // it is a unit of the steps: no claim depends on it
	f.Prior = g.PriorPrecision
	model := orElse(bayes.Model(g.Model), bayes.Logistic)
	cfg := global.Config{Model: model, Features: schema.Dim(), PriorPrecision: orElse(g.PriorPrecision, 1),
		InitialSD: g.InitialSD, InitialSpread: g.InitialSpread, Hidden: g.Hidden, Samples: g.Samples, Clip: g.Clip,
		SampleRate: orElse(g.SampleRate, f.GlobalSample()), Records: orElse(g.Records, f.AssumedRecords()),
		MaxRecords: orElse(g.MaxRecords, 1<<20), Optimiser: orElse(global.Optimiser(g.Optimiser), global.Adam),
		LearningRate: g.LearningRate, RateDecay: g.RateDecay, SDUnit: g.SDUnit, PrecisionFloor: g.PrecisionFloor,
		Averaging: g.Averaging}
	if model == bayes.BNN {
		cfg.Hidden = orElse(cfg.Hidden, f.Network().Hidden)
		cfg.Samples = orElse(cfg.Samples, f.Network().Samples)
		cfg.InitialSpread = orElse(cfg.InitialSpread, f.Network().Spread)
	}
	if cfg.Optimiser == global.Natural {
		noise, err := globalNoise(t, cfg, rounds)
		if err != nil {
			return cfg, err
		}
		f.Noise = noise
		rule, sd := f.Climb(cfg.SampleRate)
		cfg.InitialSD = orElse(cfg.InitialSD, sd)
		cfg.Clip = orElse(cfg.Clip, rule.Clip)
		cfg.LearningRate = orElse(cfg.LearningRate, rule.Rate)
		cfg.RateDecay = orElse(cfg.RateDecay, rule.Decay)
		cfg.SDUnit = orElse(cfg.SDUnit, rule.SDUnit)
		cfg.PrecisionFloor = orElse(cfg.PrecisionFloor, rule.Floor)
	} else {
		cfg.InitialSD = orElse(cfg.InitialSD, initialSD)
		cfg.Clip = orElse(cfg.Clip, globalClip(schema))
		cfg.LearningRate = orElse(cfg.LearningRate, defaults.GlobalRate(rounds-measuring))
		cfg.Averaging = orElse(cfg.Averaging, averaged)
	}
	cfg.FracBits = globalGrid(cfg.Clip)
	return cfg, nil
}

// Adaptive steps find a standard deviation from anywhere; about the last quarter of the rounds
// counts.
const (
	initialSD = 0.1
	averaged  = 3
)

// globalNoise is the noise on a sum, in clips, of a trial plan of the same shape.
func globalNoise(t Terms, cfg global.Config, rounds int) (float64, error) {
	if t.Noise == protocol.NoiseNone {
		return 0, nil
	}
	t.Rounds = rounds
	cfg.Clip = 1
	cfg.FracBits = globalGrid(1)
	cfg.InitialSD = 1
	cfg.LearningRate = 1
	p, err := t.trial(&app.GlobalVI{Global: cfg})
	if err != nil {
		return 0, err
	}
	return onSum(p), nil
}

// globalClip is the clip of gradients at which few of the schema's records are clipped: one is as
// long as the record times its residual, below 1. Clipping those that surprise most would bias
// the weights away from 0.
func globalClip(schema *dataset.Schema) float64 {
	return max(3, math.Round(11*defaults.Of(schema).Norm)/10)
}

// globalCurvature returns the configuration with so many of the rounds for the curvature; 0: as
// many as the whole of it takes, as often as an eighth of the rounds has room for it, or once, if that is a
// quarter or less; less than 0: none.
func globalCurvature(c global.Config, schema *dataset.Schema, rounds, curvature int) global.Config {
	if curvature == 0 && c.Model == bayes.Logistic {
		whole := c.CurvatureSlices()
		switch {
		case 8*whole <= rounds:
			curvature = rounds / 8 / whole * whole
		case 4*whole <= rounds:
			curvature = whole
		}
	}
	if curvature > 0 {
		c.CurvatureFrom = rounds - curvature + 1
		norm := defaults.Of(schema).Norm
		c.CurvatureBound = short(logisticCurvature * norm * norm / math.Sqrt(float64(c.CurvatureSlices())))
	}
	return c
}

// coarsest is the coarsest grid of clipped gradients, in binary digits: a thousandth of a clip of 1.
const coarsest = 10

// coarsened returns the configuration with a grid on which a party's noise is within what a plan
// allows. A small budget for many rounds and few parties takes more than that on the finest grid, and
// next to such noise a coarser one adds nothing. Without samples noise is largest, and quickly found.
// What else a plan may lack its own calibration tells.
func (t Terms) coarsened(cfg global.Config, rounds int) global.Config {
	if t.Noise == protocol.NoiseNone {
		return cfg
	}
	t.Rounds = rounds
	whole := cfg
	whole.SampleRate = 1
	for ; cfg.FracBits > coarsest; cfg.FracBits-- {
		whole.FracBits = cfg.FracBits
		if _, err := t.trial(&app.GlobalVI{Global: whole}); !errors.Is(err, privacy.ErrUnreachable) {
			break
		}
	}
	return cfg
}

// globalGrid is the resolution for clipped gradients: eight times that of GridFor,
// because each party may round up to MaxRecords of them.
func globalGrid(clip float64) uint8 { return GridFor(clip) + 3 }
