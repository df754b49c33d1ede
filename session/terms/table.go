package terms

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"choir/learn/dataset"
	"choir/learn/table"
	"choir/session/app"
)

// TableConfig describes a plan for tables: one noisy sum.
type TableConfig struct {
	SchemaFile string         `toml:"schema_file"`
	Schema     map[string]any `toml:"schema"`
	By         string         `toml:"by"`         // a column of categories: tables in each of its groups
	Counts     []string       `toml:"counts"`     // columns of categories, or of zeros and ones
	Means      []string       `toml:"means"`      // columns of numbers
	Histograms map[string]int `toml:"histograms"` // bins by column
	Quantiles  []string       `toml:"quantiles"`  // columns of numbers
	Crosstabs  [][2]string    `toml:"crosstabs"`  // pairs of columns of categories
	MaxRecords int64          `toml:"max_records"`
}

func (c *TableConfig) schema() (string, map[string]any) { return c.SchemaFile, c.Schema }

func (c *TableConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	if t.Rounds > 1 {
		return nil, 0, fmt.Errorf("rounds: %d, but tables are one sum; leave it out", t.Rounds)
	}
	cfg := table.Config{Counts: c.Counts, Means: c.Means, Crosstabs: c.Crosstabs, By: c.By, FracBits: 24,
		MaxRecords: orElse(c.MaxRecords, 1<<20)}
	for _, column := range slices.Sorted(maps.Keys(c.Histograms)) {
		cfg.Histograms = append(cfg.Histograms, table.Bins{Column: column, Bins: c.Histograms[column]})
	}
	for _, column := range c.Quantiles {
		if _, named := c.Histograms[column]; !named {
			cfg.Histograms = append(cfg.Histograms, table.Bins{Column: column, Bins: table.DefaultBins,
				QuantilesOnly: true})
		}
	}
	if len(c.Counts)+len(c.Means)+len(c.Crosstabs)+len(cfg.Histograms) == 0 {
		cfg.Counts, cfg.Means = tableOne(schema, c.By)
	}
	if _, err := table.New(cfg, schema); err != nil {
		return nil, 0, err
	}
	return &app.Table{Version: 1, Table: cfg, Schema: json.RawMessage(canonical)}, 1, nil
}

// tableOne has all columns, as the first table of a paper does.
func tableOne(schema *dataset.Schema, by string) (counts, means []string) {
	for _, c := range append(slices.Clone(schema.Columns), schema.Target) {
		switch {
		case c.Name == by:
		case c.Numeric == nil || c.Numeric.Lo == 0 && c.Numeric.Hi == 1:
			counts = append(counts, c.Name)
		default:
			means = append(means, c.Name)
		}
	}
	return counts, means
}
