package terms

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"choir/learn/stats"
	"choir/protocol"
	"choir/session/app"
)

// Fill returns the terms with every setting of the plan's application in them, so that they
// lead to the same application for any defaults.
func (c PlanConfig) Fill(p *protocol.Plan) (PlanConfig, error) {
	a, err := app.Of(p)
	if err != nil {
		return c, err
	}
	c.Rounds = int(p.Rounds)
	learning := c.Rounds
	if e := app.EvaluationOf(a); e != nil {
		learning = e.Learning(c.Rounds)
		c.Evaluation = &EvaluationConfig{Every: e.Every, HeldOut: e.HeldOut, Bins: e.Bins, Low: &e.Low,
			High: &e.High, Records: e.Records, Seed: e.Seed, PerParty: &e.PerParty}
	}
	switch a := a.(type) {
	case *app.PVI:
		file := c.Learning.SchemaFile
		v, s := a.PVI, a.PVI.Strategy.Params()
		c.Learning = &LearningConfig{SchemaFile: file, Model: string(v.Model), Strategy: string(v.Strategy.Name()),
			Family: string(v.Family), Records: a.Records, Shards: s.Shards, ShardPower: s.ShardPower,
			ShardRows: s.ShardRows, Clip: v.Clip, PriorPrecision: v.PriorPrecision,
			PrecisionFloor: v.PrecisionFloor, NoiseSD: v.NoiseSD, Hidden: v.Hidden, Samples: v.Samples,
			PriorSpread: v.PriorSpread, Damping: v.Damping, DampingDecay: v.DampingDecay, Beta: v.Beta,
			Factors: string(v.Factors), Steps: s.Steps, LearningRate: s.LearningRate,
			Optimiser: string(s.Optimiser), Sampling: string(s.Sampling), SampleRate: s.SampleRate,
			StartPrecision: v.StartPrecision, StartSpread: v.StartSpread, SDUnit: s.SDUnit,
			StatisticClip: s.StatisticClip, UpdateClip: v.UpdateClip, Weights: a.Weights,
			CurvatureRounds: -1, ResidualRounds: -1,
			PrecisionUnit: v.PrecisionUnit, ClipHalvings: v.ClipHalvings,
			StepBound: v.StepBound, StepDoublings: v.StepDoublings, StepKept: v.StepKept,
			CentreRounds: &a.CentreRounds}
		if v.ResidualFrom > 0 {
			c.Learning.ResidualRounds = learning - v.ResidualFrom + 1
			learning = v.ResidualFrom - 1
		}
		if v.CurvatureFrom > 0 {
			c.Learning.CurvatureRounds = learning - v.CurvatureFrom + 1
		}
	case *app.GlobalVI:
		file, v := c.Global.SchemaFile, a.Global
		c.Global = &GlobalConfig{SchemaFile: file, Model: string(v.Model), PriorPrecision: v.PriorPrecision,
			InitialSD: v.InitialSD, InitialSpread: v.InitialSpread, Hidden: v.Hidden, Samples: v.Samples,
			Clip: v.Clip, SampleRate: v.SampleRate, Records: v.Records, MaxRecords: v.MaxRecords,
			Optimiser: string(v.Optimiser), LearningRate: v.LearningRate, RateDecay: v.RateDecay,
			SDUnit: v.SDUnit, PrecisionFloor: v.PrecisionFloor, Averaging: v.Averaging,
			CentreRounds: &a.CentreRounds}
	case *app.Statistics:
		c.Learning, c.Statistics = nil, c.statistics(a.Statistics, learning)
	}
	return c, nil
}

// WithSchema returns the terms with another schema file.
func (c PlanConfig) WithSchema(file string) PlanConfig {
	if c.Learning != nil {
		l := *c.Learning
		l.SchemaFile, l.Schema = file, nil
		c.Learning = &l
	}
	if c.Global != nil {
		g := *c.Global
		g.SchemaFile, g.Schema = file, nil
		c.Global = &g
	}
	if c.Statistics != nil {
		s := *c.Statistics
		s.SchemaFile, s.Schema = file, nil
		c.Statistics = &s
	}
	if c.MCMC != nil {
		m := *c.MCMC
		m.SchemaFile, m.Schema = file, nil
		c.MCMC = &m
	}
	if c.Table != nil {
		t := *c.Table
		t.SchemaFile, t.Schema = file, nil
		c.Table = &t
	}
	if c.Shuffle != nil {
		s := *c.Shuffle
		s.SchemaFile, s.Schema = file, nil
		c.Shuffle = &s
	}
	return c
}

// statistics keeps the bounds of the schema's columns, which the file has no key for.
func (c PlanConfig) statistics(v stats.Config, rounds int) *StatisticsConfig {
	file := ""
	if c.Statistics != nil {
		file = c.Statistics.SchemaFile
	} else if c.Learning != nil {
		file = c.Learning.SchemaFile
	}
	residuals := -1
	if v.ResidualFrom > 0 {
		residuals = rounds - v.ResidualFrom + 1
	}
	return &StatisticsConfig{SchemaFile: file, PriorPrecision: v.PriorPrecision, NoiseSD: v.NoiseSD,
		ResidualRounds: residuals, TargetWeight: orElse(v.TargetWeight, 1),
		TargetBound: v.TargetBound, MomentRounds: orElse(v.MomentRounds, -1), Radius: v.Radius,
		Threshold: v.Threshold, TargetThreshold: v.TargetThreshold, Records: v.Records, MaxRecords: v.MaxRecords}
}

// meanings are comments in a plan's file.
var meanings = map[string]string{
	"target_weight": "length of a scaled target", "clip_halvings": "of scores, in equal parts of the rounds",
	"precision_unit": "of precisions beside scores; 0: no scores",
	"name":           "of the plan", "lifetime": "nobody starts a round after it",
	"suite": "X-Wing key agreement, safe against quantum computers", "parties": "cards of those with rows",
	"computes": "cards of the nodes; one honest one suffices", "aggregator": "its card",
	"rounds": "sums that the budget pays for", "dropouts": "parties that may be missing",
	"colluders": "parties that may pool what they know", "deadline": "wait for parties at least",
	"epsilon": "for one record, over all rounds", "delta": "probability that epsilon fails",
	"noise": "who adds it", "schema_file": "how columns are encoded", "records": "declared, of all parties",
	"strategy": "how a party computes its update", "family": "of the posterior",
	"shards": "most factors of a party", "shard_rows": "rows of a factor", "clip": "bound on one term",
	"prior_precision": "of every weight", "precision_floor": "least precision under noise",
	"damping": "share of a step that is applied", "steps": "local steps in a round",
	"learning_rate": "of a step", "optimiser": "of the local steps", "sample_rate": "of the records in a step",
	"sampling": "how they are chosen", "start_precision": "of all factors before the first round",
	"weights": "each party's share of the records, in order of name", "max_records": "of one party",
	"initial_sd": "of the posterior before the first round", "rate_decay": "of the learning rate",
	"sd_unit": "lengthens the curvature's part", "target_bound": "of the encoded target",
	"radius": "bound on one record's norm", "damping_decay": "by round",
	"model": "what is learnt", "curvature_rounds": "last rounds, for honest intervals; below 0: none",
	"residual_rounds": "the last ones, of residuals; below 0: none",
	"step_bound":      "largest step of a party", "step_doublings": "of it in the first rounds",
	"step_kept":     "share of a step's slope that the bound keeps",
	"moment_rounds": "first rounds, for scales", "noise_sd": "of an observation", "averaging": "over rounds",
	"threshold": "cuts scaled columns",
	"by":        "tables in each of its groups", "counts": "of categories", "means": "with standard deviations",
	"histograms": "bins by column", "quantiles": "from histograms", "crosstabs": "pairs of columns",
	"estimate": "of the reports", "columns": "that every record reports", "levels": "of a number",
	"eps0": "of a report against everybody", "gamma": "probability of a random report",
	"backend":          "what shuffles",
	"target_threshold": "cuts the scaled target",
	"centre_rounds":    "first rounds, for where columns lie in their ranges",
	"every":            "rounds of learning between evaluations",
	"held_out":         "share of the records that are only evaluated",
	"low":              "least log-likelihood of a record", "high": "largest log-likelihood of a record",
	"seed": "of the positions held out", "per_party": "a party's mean score counts once",
}

// Text is the terms as a file, each key with a comment. Keys without a value are left out.
func (c PlanConfig) Text() ([]byte, error) {
	var b bytes.Buffer
	if err := writeSection(&b, "", reflect.ValueOf(c)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeSection writes a section's own keys, then the sections in it.
func writeSection(b *bytes.Buffer, name string, v reflect.Value) error {
	if name != "" {
		fmt.Fprintf(b, "\n[%s]\n", name)
	}
	type inner struct {
		name string
		v    reflect.Value
	}
	var later []inner
	for i := range v.NumField() {
		key, field := v.Type().Field(i).Tag.Get("toml"), v.Field(i)
		_, text := field.Interface().(interface{ MarshalText() ([]byte, error) })
		switch {
		case field.IsZero():
			continue
		case field.Kind() == reflect.Pointer && field.Type().Elem().Kind() == reflect.Struct:
			later = append(later, inner{key, field.Elem()})
			continue
		case field.Kind() == reflect.Struct && !text:
			later = append(later, inner{key, field})
			continue
		}
		line, err := toml.Marshal(map[string]any{key: field.Interface()})
		if bins, ok := field.Interface().(map[string]int); ok {
			line = []byte(key + " = " + inline(bins))
		}
		if err != nil {
			return err
		}
		comment := meanings[key]
		if comment != "" {
			comment = "    # " + comment
		}
		fmt.Fprintf(b, "%s%s\n", bytes.TrimSpace(line), comment)
	}
	for _, s := range later {
		if err := writeSection(b, s.name, s.v); err != nil {
			return err
		}
	}
	return nil
}

// inline is a table of numbers on one line.
func inline(numbers map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		parts = append(parts, fmt.Sprintf("%q = %d", key, numbers[key]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
