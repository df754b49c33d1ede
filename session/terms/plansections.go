package terms

import (
	"encoding/json"
	"math"

	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/defaults"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/session/app"
)

// GlobalConfig describes a plan of global inference; see global.Config for the fields'
// meaning. The defaults were found on UCI Adult and on generated data.
type GlobalConfig struct {
	SchemaFile     string         `toml:"schema_file"`
	Schema         map[string]any `toml:"schema"`
	Model          string         `toml:"model"`           // default logistic
	PriorPrecision float64        `toml:"prior_precision"` // default 1
	InitialSD      float64        `toml:"initial_sd"`      // default 0.1
	InitialSpread  float64        `toml:"initial_spread"`
	Hidden         int            `toml:"hidden"`
	Samples        int            `toml:"samples"`
	Clip           float64        `toml:"clip"`          // default GlobalClip
	SampleRate     float64        `toml:"sample_rate"`   // default 0.02
	Records        int64          `toml:"records"`       // default 200 a party
	MaxRecords     int64          `toml:"max_records"`   // default 2^20
	Optimiser      string         `toml:"optimiser"`     // default adam; see NaturalGlobal
	LearningRate   float64        `toml:"learning_rate"` // default 0.015
	RateDecay      float64        `toml:"rate_decay"`
	SDUnit         float64        `toml:"sd_unit"`
	PrecisionFloor float64        `toml:"precision_floor"`
	Averaging      float64        `toml:"averaging"`
	// CurvatureRounds is how many of the last rounds reveal the curvature; see GlobalCurvature.
	CurvatureRounds int `toml:"curvature_rounds"`
}

func (g *GlobalConfig) schema() (string, map[string]any) { return g.SchemaFile, g.Schema }

func (g *GlobalConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if err := suits(orElse(pvi.Model(g.Model), pvi.Logistic), schema); err != nil {
		return nil, 0, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	rounds := defaults.GlobalRounds
	records := g.Records
	if records == 0 { // it is a unit of the steps: no claim depends on it
		records = defaults.Facts{Parties: t.parties()}.AssumedRecords()
	}
	cfg := DefaultGlobal(schema.Dim(), records)
	cfg.Clip = GlobalClip(schema)
	if global.Optimiser(g.Optimiser) == global.Natural {
		cfg = NaturalGlobal(schema.Dim(), records)
		rounds = defaults.NaturalGlobalRounds
	}
	rounds = orElse(t.Rounds, rounds)
	cfg.Model, cfg.PriorPrecision, cfg.InitialSD = orElse(pvi.Model(g.Model),
		cfg.Model), orElse(g.PriorPrecision, cfg.PriorPrecision), orElse(g.InitialSD, cfg.InitialSD)
	cfg.InitialSpread, cfg.Hidden, cfg.Samples = g.InitialSpread, g.Hidden, g.Samples
	cfg.Clip, cfg.SampleRate, cfg.MaxRecords = orElse(g.Clip, cfg.Clip), orElse(g.SampleRate,
		cfg.SampleRate), orElse(g.MaxRecords, cfg.MaxRecords)
	cfg.Optimiser, cfg.LearningRate = orElse(global.Optimiser(g.Optimiser),
		cfg.Optimiser), orElse(g.LearningRate, cfg.LearningRate)
	cfg.RateDecay, cfg.Averaging = orElse(g.RateDecay, cfg.RateDecay), orElse(g.Averaging, cfg.Averaging)
	cfg.SDUnit, cfg.PrecisionFloor = orElse(g.SDUnit, cfg.SDUnit), orElse(g.PrecisionFloor, cfg.PrecisionFloor)
	cfg.FracBits = GlobalGrid(cfg.Clip)
	cfg = GlobalCurvature(cfg, schema, rounds, g.CurvatureRounds)
	return &app.GlobalVI{Version: 1, Global: cfg, Schema: json.RawMessage(canonical)}, rounds, nil
}

// GlobalClip is the clip of gradients at which few of the schema's records are clipped: one is as
// long as the record times its residual, below 1. Clipping those that surprise most would bias
// the weights away from 0.
func GlobalClip(schema *dataset.Schema) float64 {
	return max(3, math.Round(11*defaults.Of(schema).Norm)/10)
}

// GlobalCurvature returns the configuration with so many of the rounds for the curvature; 0: as
// many as three times the whole of it takes, if they are an eighth of the rounds or less,
// or once, if that is a quarter or less; less than 0: none.
func GlobalCurvature(c global.Config, schema *dataset.Schema, rounds, curvature int) global.Config {
	if curvature == 0 && c.Model == pvi.Logistic {
		whole := c.CurvatureSlices()
		switch {
		case 24*whole <= rounds:
			curvature = 3 * whole
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

// DefaultGlobal is global inference for logistic regression, with settings for a
// thousand rounds on about ten thousand records whose columns are of size 1.
func DefaultGlobal(features int, records int64) global.Config {
	return global.Config{Model: pvi.Logistic, Features: features, PriorPrecision: 1, InitialSD: 0.1, Clip: 3,
		FracBits: GlobalGrid(3), SampleRate: 0.02,
		Records: records, MaxRecords: 1 << 20, Optimiser: global.Adam, LearningRate: 0.015, Averaging: 3}
}

// NaturalGlobal is the same by natural-gradient steps, with settings for fifty rounds.
func NaturalGlobal(features int, records int64) global.Config {
	return global.Config{Model: pvi.Logistic, Features: features, PriorPrecision: 1, InitialSD: 0.06, Clip: 0.15,
		FracBits: GlobalGrid(0.15), SampleRate: 0.1,
		Records: records, MaxRecords: 1 << 20, Optimiser: global.Natural, LearningRate: 0.2, RateDecay: 0.1,
		SDUnit: 20, PrecisionFloor: 50}
}

// GlobalGrid is the resolution for clipped gradients: eight times that of GridFor,
// because each party may round up to MaxRecords of them.
func GlobalGrid(clip float64) uint8 { return GridFor(clip) + 3 }

// StatisticsConfig describes a plan of sufficient statistics; see stats.Config for the
// fields' meaning.
type StatisticsConfig struct {
	SchemaFile      string         `toml:"schema_file"`
	Schema          map[string]any `toml:"schema"`
	PriorPrecision  float64        `toml:"prior_precision"` // default 1
	NoiseSD         float64        `toml:"noise_sd"`        // default estimated
	Bound           float64        `toml:"bound"`           // of all columns; default by column, from the schema
	TargetBound     float64        `toml:"target_bound"`    // default the target's
	MomentRounds    int            `toml:"moment_rounds"`
	Radius          float64        `toml:"radius"` // default 0.9 sqrt(columns)
	Threshold       float64        `toml:"threshold"`
	TargetThreshold float64        `toml:"target_threshold"`
	Records         int64          `toml:"records"`     // default 200 a party without moment_rounds
	MaxRecords      int64          `toml:"max_records"` // default 2^20
}

func (s *StatisticsConfig) schema() (string, map[string]any) { return s.SchemaFile, s.Schema }

func (s *StatisticsConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if err := suits(pvi.Linear, schema); err != nil {
		return nil, 0, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	rounds := orElse(t.Rounds, defaults.StatisticsRounds)
	records := s.Records
	if records == 0 && s.MomentRounds == 0 {
		// Only moments are divided by it.
		records = defaults.Facts{Parties: t.parties()}.AssumedRecords()
	}
	cfg := DefaultStatistics(schema, records)
	cfg.PriorPrecision, cfg.NoiseSD, cfg.MaxRecords = orElse(s.PriorPrecision,
		cfg.PriorPrecision), s.NoiseSD, orElse(s.MaxRecords, cfg.MaxRecords)
	if s.Bound != 0 {
		cfg.Bound, cfg.Bounds = s.Bound, nil
	}
	cfg.TargetBound, cfg.Radius = orElse(s.TargetBound, cfg.TargetBound), orElse(s.Radius, cfg.Radius)
	cfg.MomentRounds, cfg.Threshold, cfg.TargetThreshold = s.MomentRounds, s.Threshold, s.TargetThreshold
	return &app.Statistics{Version: 1, Statistics: cfg, Schema: json.RawMessage(canonical)}, rounds, nil
}

// DefaultStatistics is linear regression by sufficient statistics within a schema's
// public ranges: no moment rounds, and a radius slightly below the norm of a record of
// independent columns of size 1, so that about half of the records are scaled down.
func DefaultStatistics(schema *dataset.Schema, records int64) stats.Config {
	c := stats.Config{Features: schema.Dim(), PriorPrecision: 1, Bound: 1, TargetBound: 1, FracBits: 8,
		Records: records, MaxRecords: 1 << 20}
	for _, column := range schema.Columns {
		for range max(1, len(column.Categories)) {
			c.Bounds = append(c.Bounds, max(0x1p-20, reach(column)))
		}
	}
	c.TargetBound = max(0x1p-20, reach(schema.Target))
	c.Radius = min(64, max(2, 0.9*math.Sqrt(float64(c.Features+1))))
	return c
}

// reach returns the largest magnitude of an encoded column.
func reach(c dataset.Column) float64 {
	if c.Numeric == nil {
		return 1
	}
	return centre.Reach(c)
}
