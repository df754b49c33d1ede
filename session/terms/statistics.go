package terms

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/defaults"
	"choir/learn/stats"
	"choir/protocol"
	"choir/session/app"
)

// StatisticsConfig describes a plan of sufficient statistics; see stats.Config for the
// fields' meaning.
type StatisticsConfig struct {
	SchemaFile      string         `toml:"schema_file"`
	Schema          map[string]any `toml:"schema"`
	PriorPrecision  float64        `toml:"prior_precision"` // default 1
	NoiseSD         float64        `toml:"noise_sd"`        // default estimated
	Bound           float64        `toml:"bound"`           // of all columns; default by column, from the schema
	TargetBound     float64        `toml:"target_bound"`    // default the target's
	MomentRounds    int            `toml:"moment_rounds"`   // default by the noise; -1 is none
	ResidualRounds  int            `toml:"residual_rounds"` // default 6 of 10 after moment rounds; -1 is none
	Radius          float64        `toml:"radius"`          // default by the length of a record and the noise
	TargetWeight    float64        `toml:"target_weight"`   // default by the columns with moments, else 1
	Threshold       float64        `toml:"threshold"`
	TargetThreshold float64        `toml:"target_threshold"`
	Records         int64          `toml:"records"`     // default 200 a party without moment_rounds
	MaxRecords      int64          `toml:"max_records"` // default 2^20
}

func (s *StatisticsConfig) schema() (string, map[string]any) { return s.SchemaFile, s.Schema }

func (s *StatisticsConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	return s.Spec(t, schema)
}

// Spec is the application that the configuration describes under the terms, and its number of rounds.
func (s *StatisticsConfig) Spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if schema.Classification() {
		return nil, 0, fmt.Errorf("statistics: the method predicts a number, and the schema's target %q has two "+
			"classes: take [learning]", schema.Target.Name)
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	rounds := orElse(t.Rounds, defaults.StatisticsRounds)
	records := s.Records
	if records == 0 && s.MomentRounds <= 0 {
		// Only moments are divided by it.
		records = defaults.Facts{Parties: t.parties()}.AssumedRecords()
	}
	cfg := defaultStatistics(schema, records)
	cfg.PriorPrecision, cfg.NoiseSD, cfg.MaxRecords = orElse(s.PriorPrecision,
		cfg.PriorPrecision), s.NoiseSD, orElse(s.MaxRecords, cfg.MaxRecords)
	if cfg.MomentRounds, err = s.moments(t, cfg, schema, rounds); err != nil {
		return nil, 0, err
	}
	if s.TargetWeight != 1 {
		cfg.TargetWeight = s.TargetWeight
	}
	switch {
	case cfg.MomentRounds == 0:
		usualUnits(&cfg, schema)
	case s.TargetWeight == 0:
		cfg.TargetWeight = targetWeight(cfg.Features)
	}
	cfg.Radius = orElse(s.Radius, radius(cfg))
	if n := s.residuals(cfg, rounds); n > 0 {
		cfg.ResidualFrom = rounds - n + 1
		t.Rounds = rounds
		if s.Radius == 0 {
			if cfg.Radius, err = t.wider(cfg, n); err != nil {
				return nil, 0, err
			}
		}
	}
	if s.Bound != 0 {
		cfg.Bound, cfg.Bounds = s.Bound, nil
	}
	cfg.TargetBound = orElse(s.TargetBound, cfg.TargetBound)
	cfg.Threshold, cfg.TargetThreshold = s.Threshold, s.TargetThreshold
	return &app.Statistics{Version: 1, Statistics: cfg, Schema: json.RawMessage(canonical)}, rounds, nil
}

// Moments where a plan names neither their rounds nor units: see stats.Config.MomentError. With larger errors
// drawn worlds predicted better in the units that the schema leads to expect. Where ranges alone are public
// it leads to expect little.
const (
	momentShare     = 10 // one round of so many
	leastForMoments = 5  // rounds
	mostMomentError = 0.2
	mostOfRanges    = 1.0 // where ranges alone are public
)

// moments is how many of the rounds measure the columns' means and standard deviations.
func (s *StatisticsConfig) moments(t Terms, cfg stats.Config, schema *dataset.Schema,
	rounds int) (int, error) {
	if s.MomentRounds != 0 {
		return max(0, s.MomentRounds), nil
	}
	if s.Records == 0 || s.Bound != 0 || s.TargetBound != 0 || rounds < leastForMoments {
		return 0, nil
	}
	cfg.MomentRounds = max(1, rounds/momentShare)
	noise := 0.0
	if t.Noise != protocol.NoiseNone {
		t.Rounds = rounds
		p, err := t.trial(&app.Statistics{Statistics: cfg})
		if err != nil {
			return 0, err
		}
		noise = onSum(p) * float64(p.Clip)
	}
	if cfg.MomentError(noise*noise) > mostError(schema) {
		return 0, nil
	}
	return cfg.MomentRounds, nil
}

// mostError is that with which moments pay.
func mostError(schema *dataset.Schema) float64 {
	if slices.ContainsFunc(schema.Columns, dataset.Column.RangeAlone) {
		return mostOfRanges
	}
	return mostMomentError
}

// residualShare is how many of the rounds are of residuals, where others are of moments.
const residualShare = 0.6

// residuals is how many of the rounds are of residuals: by default where moment rounds pay, so that the first
// statistics tell where the targets are.
func (s *StatisticsConfig) residuals(cfg stats.Config, rounds int) int {
	switch {
	case s.ResidualRounds != 0:
		return max(0, s.ResidualRounds)
	case cfg.MomentRounds == 0:
		return 0
	}
	return max(0, min(int(math.Round(residualShare*float64(rounds))), rounds-cfg.MomentRounds-1))
}

// A radius that is wider than usual: the noise on scores has at most the share little of their variance by
// sampling, and it is at most longest usual ones.
const (
	little  = 0.05
	longest = 4
)

// wider returns the radius of statistics with moments and a number of rounds of residuals. Where noise is
// little next to what sampling leaves, it costs nothing to take fewer from records beyond it, which need not
// be normal. The noise's standard deviation grows with the radius's square.
func (t Terms) wider(cfg stats.Config, residuals int) (float64, error) {
	if t.Noise == protocol.NoiseNone {
		return min(64, longest*cfg.Radius), nil
	}
	p, err := t.trial(&app.Statistics{Statistics: cfg})
	if err != nil {
		return 0, err
	}
	noise := cfg.ScoreNoise(onSum(p)*float64(p.Clip), residuals)
	by := math.Pow(little/(noise*noise), 0.25)
	return min(64, cfg.Radius*max(1, min(longest, by))), nil
}

// momentsOutlook warns of moment rounds whose noise is too large for what they measure.
func momentsOutlook(p *protocol.Plan, c stats.Config, schema *dataset.Schema) string {
	noise := onSum(p) * float64(p.Clip)
	e := c.MomentError(noise * noise)
	if c.MomentRounds == 0 || e <= mostError(schema) {
		return ""
	}
	return fmt.Sprintf("noise may hide how long the columns are: after %d of %d rounds that measure it their "+
		"mean squares have an error of up to %.2g of what is expected; leave moment_rounds out, or name the "+
		"target's length in target_bound", c.MomentRounds, p.Rounds, e)
}

// widest is the bound of moments, in lengths that a column is expected to have.
const widest = 4

// defaultStatistics is linear regression by sufficient statistics within bounds that moment rounds need, a
// schema's public ranges or a few usual lengths, without moment rounds.
func defaultStatistics(schema *dataset.Schema, records int64) stats.Config {
	c := stats.Config{Features: schema.Dim(), PriorPrecision: 1, Bound: 1, TargetBound: 1, FracBits: 8,
		Records: records, MaxRecords: 1 << 20, Levels: schema.Levels()}
	for _, column := range schema.Columns {
		for range max(1, len(column.Categories)) {
			c.Bounds = append(c.Bounds, momentBound(column))
		}
	}
	c.TargetBound = momentBound(schema.Target)
	c.Radius = radius(c)
	return c
}

// radius is slightly below the norm of a record of independent columns of size 1, so that most
// records are scaled down.
func radius(c stats.Config) float64 {
	target := max(1, c.TargetWeight)
	return min(64, max(2, 0.8*math.Sqrt(float64(c.Features)+target*target)))
}

// targetWeight is the length c of a target, in those of d columns, with which noise costs least. A record has
// the square norm d + c^2, with which the noise on a product grows. It is on X'X, times weights whose squares
// add up to about 1 if columns explain the target, and on X'y over c: (d + c^2)^2 (1 + 1/c^2) is least at c^4
// + c^2/2 = d/2. It is for targets of a known length: one of twice that would be long for the radius.
func targetWeight(d int) float64 {
	c := math.Sqrt((math.Sqrt(1+8*float64(d)) - 1) / 4)
	return math.Round(100*c) / 100
}

// usualUnits makes the units of statistics without moment rounds the lengths that columns are expected
// to have, in the place of their bounds, which are several times as long for a standardised column: the
// radius is for columns of length 1, and bounds what a record adds.
func usualUnits(c *stats.Config, schema *dataset.Schema) {
	c.Bounds = nil
	for _, column := range schema.Columns {
		for range max(1, len(column.Categories)) {
			c.Bounds = append(c.Bounds, max(0x1p-20, defaults.Length(column)))
		}
	}
	c.TargetBound = max(0x1p-20, defaults.Length(schema.Target))
}

// momentBound is a column's bound in rounds that measure moments.
func momentBound(c dataset.Column) float64 {
	return max(0x1p-20, min(reach(c), widest*defaults.Length(c)))
}

// reach returns the largest magnitude of an encoded column.
func reach(c dataset.Column) float64 {
	if c.Numeric == nil {
		return 1
	}
	return centre.Reach(c)
}
