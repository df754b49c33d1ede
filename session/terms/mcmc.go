package terms

import (
	"encoding/json"

	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/defaults"
	"choir/learn/mcmc"
	"choir/session/app"
)

// MCMCConfig describes a plan of Markov chain Monte Carlo; see mcmc.Config for the fields'
// meaning. The defaults of the stages are shares of the rounds.
type MCMCConfig struct {
	SchemaFile       string         `toml:"schema_file"`
	Schema           map[string]any `toml:"schema"`
	Method           string         `toml:"method"` // default trace
	Records          int64          `toml:"records"`
	MaxRecords       int64          `toml:"max_records"`     // default 2^20
	PriorPrecision   float64        `toml:"prior_precision"` // default 1
	Radius           float64        `toml:"radius"`          // default 1.5 times the expected norm
	Clip             float64        `toml:"clip"`            // default by the noise
	ScaleRounds      *int           `toml:"scale_rounds"`
	LocateRounds     *int           `toml:"locate_rounds"`
	CurvatureRounds  int            `toml:"curvature_rounds"`
	WarmRounds       int            `toml:"warm_rounds"`
	Chains           int            `toml:"chains"` // default 4, or the number of columns
	Keep             int            `toml:"keep"`   // default 256 over all chains
	Temper           float64        `toml:"temper"` // default 1
	Step             float64        `toml:"step"`
	Leapfrogs        int            `toml:"leapfrogs"`   // default 3
	SampleRate       float64        `toml:"sample_rate"` // default 1
	SamplingVariance float64        `toml:"sampling_variance"`
	CentreRounds     *int           `toml:"centre_rounds"` // that of LearningConfig
}

func (m *MCMCConfig) schema() (string, map[string]any) { return m.SchemaFile, m.Schema }

func (m *MCMCConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	return m.Spec(t, schema)
}

// Spec is the application that the configuration describes under the terms, and its number of rounds.
func (m *MCMCConfig) Spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if err := suitsClasses("mcmc", schema); err != nil {
		return nil, 0, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	records := m.Records
	if records == 0 { // it scales the clip and the steps: no claim depends on it
		records = defaults.Facts{Parties: t.parties()}.AssumedRecords()
	}
	rate := orElse(m.SampleRate, 1)
	rounds := DefaultMCMC(mcmc.Method(m.Method), schema, records, t.Rounds, rate).Rounds
	const fewest = 3 // encoded columns, of which products have room for means and squares
	able := schema.Dim() >= fewest && rate == 1
	measuring := t.measuring(m.CentreRounds, able, schema, centre.RoundsOf(rounds))
	if err := leftToLearn(measuring, rounds); err != nil {
		return nil, 0, err
	}
	if measuring > 0 {
		schema = centre.Schema(schema, nil)
	}
	cfg := DefaultMCMC(mcmc.Method(m.Method), schema, records, rounds-measuring, rate)
	cfg.MaxRecords = orElse(m.MaxRecords, cfg.MaxRecords)
	cfg.PriorPrecision = orElse(m.PriorPrecision, cfg.PriorPrecision)
	cfg.Radius = orElse(m.Radius, cfg.Radius)
	cfg.Clip = orElse(m.Clip, cfg.Clip)
	if m.ScaleRounds != nil {
		cfg.ScaleRounds = *m.ScaleRounds
	}
	if m.LocateRounds != nil {
		cfg.LocateRounds = *m.LocateRounds
	}
	cfg.CurvatureRounds = orElse(m.CurvatureRounds, cfg.CurvatureRounds)
	cfg.WarmRounds = orElse(m.WarmRounds, cfg.WarmRounds)
	cfg.Chains = orElse(m.Chains, cfg.Chains)
	cfg.Keep = orElse(m.Keep, 256/max(1, cfg.Chains))
	cfg.Temper = orElse(m.Temper, cfg.Temper)
	cfg.Step = m.Step
	cfg.Leapfrogs = orElse(m.Leapfrogs, cfg.Leapfrogs)
	cfg.SamplingVariance = m.SamplingVariance
	return &app.MCMC{Version: 1, MCMC: cfg, Schema: json.RawMessage(canonical), CentreRounds: measuring}, rounds,
		nil
}

// DefaultMCMC is a sampler for columns of a schema. The empty method is the trace posterior;
// 0 rounds are the method's default. A plan has one sample rate for all its rounds, so one
// below 1 leaves no rounds for scale and place.
func DefaultMCMC(method mcmc.Method, schema *dataset.Schema, records int64, rounds int,
	rate float64) mcmc.Config {
	c := mcmc.Config{Method: orElse(method, mcmc.Trace), Features: schema.Dim(), PriorPrecision: 1,
		Radius: 1.5 * defaults.Of(schema).Norm, Chains: 1, Keep: 256, Temper: 1, SampleRate: rate,
		Records: records, MaxRecords: 1 << 20}
	c.Rounds = orElse(rounds, map[mcmc.Method]int{mcmc.Trace: 100, mcmc.Langevin: 500}[c.Method])
	c.Rounds = orElse(c.Rounds, 1000)
	if rate == 1 {
		c.ScaleRounds = min(20, max(1, c.Rounds/30))
		c.LocateRounds = min(40, max(2, c.Rounds/10))
	}
	switch c.Method {
	case mcmc.Trace:
		c.CurvatureRounds = max(1, c.Rounds/16)
		c.WarmRounds = 2 * max(1, c.Rounds/14)
	case mcmc.Penalty, mcmc.Barker:
		c.Chains = min(4, c.Features)
		c.Keep = 64
	case mcmc.HMC:
		c.Leapfrogs = 3
	}
	return c
}
