package pvi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// Params is the parameters of all strategies in one flat form, as a plan has them. A
// parameter that a strategy does not have has a fixed value: Shards is 1, Local is true
// for strategies whose noise is always at the party, and the others are 0.
type Params struct {
	Shards        int       `json:"shards"`
	ShardPower    float64   `json:"shard_power"`
	ShardRows     int       `json:"shard_rows"`
	Local         bool      `json:"local"`
	Optimiser     Optimiser `json:"optimiser"`
	SDUnit        float64   `json:"sd_unit"`
	Steps         int       `json:"steps"`
	LearningRate  float64   `json:"learning_rate"`
	Sampling      Sampling  `json:"sampling"`
	SampleRate    float64   `json:"sample_rate"`
	StatisticClip float64   `json:"statistic_clip"`
	Parties       int       `json:"parties"`
}

// Strategy returns the strategy of that name with these parameters. Errors: ErrConfig for
// an unknown name, or for a parameter that the strategy does not have.
func (p Params) Strategy(name StrategyName) (Strategy, error) {
	s := p.named(name)
	if s == nil {
		return nil, fmt.Errorf("%w: strategy is %q, want %s", ErrConfig, string(name), wantStrategy())
	}
	has, set := reflect.ValueOf(s.Params()), reflect.ValueOf(p)
	for i := range set.NumField() {
		// NaN differs from itself, but not from another NaN that was copied.
		want, got := has.Field(i).Interface(), set.Field(i).Interface()
		if want != got && fmt.Sprint(want) != fmt.Sprint(got) {
			text := fmt.Sprint(want)
			if text == "" {
				text = "none"
			}
			return nil, fmt.Errorf("%w: %s is %v, want %s with strategy %q",
				ErrConfig, set.Type().Field(i).Tag.Get("json"), got, text, string(name))
		}
	}
	return s, nil
}

// named returns the strategy with the parameters that it has, or nil.
func (p Params) named(name StrategyName) Strategy {
	switch name {
	case NameDataset:
		return Dataset{p.fit(), p.Local}
	case NameVirtual:
		return Virtual{p.Shards, p.ShardPower, p.ShardRows, p.fit(), p.Local}
	case NameAveraging:
		return Averaging{p.Shards, p.fit(), p.Local}
	case NamePerturbation:
		return Perturbation{p.fit()}
	case NameOptimisation:
		return p.steps()
	case NameAnalytic:
		return Analytic{p.Sampling, p.SampleRate}
	case NameHybrid:
		return hybrid{p.steps(), p.StatisticClip}
	case NameBCMSame:
		return BCMSame{p.steps()}
	case NameBCMSplit:
		return BCMSplit{p.steps(), p.Parties}
	}
	return nil
}

func (p Params) fit() Fit { return Fit{p.Optimiser, p.Steps, p.LearningRate} }

func (p Params) steps() Optimisation {
	return Optimisation{p.Optimiser, p.SDUnit, p.Steps, p.LearningRate, p.Sampling, p.SampleRate}
}

func (f Fit) params(shards int, local bool) Params {
	return Params{Shards: shards, Local: local, Optimiser: f.Optimiser, Steps: f.Steps,
		LearningRate: f.LearningRate}
}

// Params implements Strategy.
func (d Dataset) Params() Params { return d.Fit.params(1, d.Local) }

// Params implements Strategy.
func (v Virtual) Params() Params {
	p := v.Fit.params(v.Shards, v.Local)
	p.ShardPower = v.ShardPower
	p.ShardRows = v.ShardRows
	return p
}

// Params implements Strategy.
func (a Averaging) Params() Params { return a.Fit.params(a.Shards, a.Local) }

// Params implements Strategy.
func (p Perturbation) Params() Params { return p.Fit.params(1, true) }

// Params implements Strategy.
func (o Optimisation) Params() Params {
	return Params{Shards: 1, Local: true, Optimiser: o.Optimiser, SDUnit: o.SDUnit, Steps: o.Steps,
		LearningRate: o.LearningRate, Sampling: o.Sampling, SampleRate: o.SampleRate}
}

// Params implements Strategy.
func (a Analytic) Params() Params {
	return Params{Shards: 1, Local: true, Sampling: a.Sampling, SampleRate: a.SampleRate}
}

// Params implements Strategy.
func (h hybrid) Params() Params {
	p := h.Optimisation.Params()
	p.StatisticClip = h.StatisticClip
	return p
}

// Params implements Strategy.
func (b BCMSplit) Params() Params {
	p := b.Optimisation.Params()
	p.Parties = b.Parties
	return p
}

// Adjusted returns the configuration with some of its strategy's parameters changed.
// Errors: ErrConfig for a parameter that the strategy does not have.
func (c Config) Adjusted(change func(p *Params)) (Config, error) {
	p := c.params()
	change(&p)
	s, err := p.Strategy(c.name())
	if err != nil {
		return Config{}, err
	}
	c.Strategy = s
	return c, nil
}

// wire is a Config as a plan has it: flat, in this order.
type wire struct {
	Model          bayes.Model  `json:"model"`
	Family         gauss.Family `json:"family"`
	Strategy       StrategyName `json:"strategy"`
	Features       int          `json:"features"`
	Shards         int          `json:"shards"`
	ShardPower     float64      `json:"shard_power,omitempty"`
	ShardRows      int          `json:"shard_rows,omitempty"`
	PriorPrecision float64      `json:"prior_precision"`
	NoiseSD        float64      `json:"noise_sd"`
	Parameters     int          `json:"parameters,omitempty"`
	Hidden         int          `json:"hidden,omitempty"`
	Samples        int          `json:"samples,omitempty"`
	PriorSpread    float64      `json:"prior_spread,omitempty"`
	Clip           float64      `json:"clip"`
	FracBits       uint8        `json:"frac_bits"`
	DampingBits    uint8        `json:"damping_bits"`
	Damping        float64      `json:"damping"`
	DampingDecay   float64      `json:"damping_decay"`
	Beta           float64      `json:"beta"`
	PrecisionUnit  float64      `json:"precision_unit,omitempty"`
	ClipHalvings   int          `json:"clip_halvings,omitempty"`
	Steps          int          `json:"steps"`
	LearningRate   float64      `json:"learning_rate"`
	Local          bool         `json:"local,omitempty"`
	Factors        Factors      `json:"factors,omitempty"`
	Optimiser      Optimiser    `json:"optimiser,omitempty"`
	SDUnit         float64      `json:"sd_unit,omitempty"`
	Sampling       Sampling     `json:"sampling,omitempty"`
	SampleRate     float64      `json:"sample_rate,omitempty"`
	StartPrecision float64      `json:"start_precision,omitempty"`
	StartSpread    float64      `json:"start_spread,omitempty"`
	StatisticClip  float64      `json:"statistic_clip,omitempty"`
	UpdateClip     float64      `json:"update_clip,omitempty"`
	Parties        int          `json:"parties,omitempty"`
	PrecisionFloor float64      `json:"precision_floor"`
	CurvatureFrom  int          `json:"curvature_from,omitempty"`
	CurvatureBound float64      `json:"curvature_bound,omitempty"`
	ResidualFrom   int          `json:"residual_from,omitempty"`
	StepBound      float64      `json:"step_bound,omitempty"`
	StepDoublings  int          `json:"step_doublings,omitempty"`
	StepKept       float64      `json:"step_kept,omitempty"`
}

// MarshalJSON writes the flat form that plans have.
func (c Config) MarshalJSON() ([]byte, error) {
	p := c.params()
	return json.Marshal(wire{
		Model: c.Model, Family: c.Family, Strategy: c.name(), Features: c.Features,
		Shards: p.Shards, ShardPower: p.ShardPower, ShardRows: p.ShardRows,
		PriorPrecision: c.PriorPrecision, NoiseSD: c.NoiseSD,
		Parameters: c.Parameters, Hidden: c.Hidden, Samples: c.Samples, PriorSpread: c.PriorSpread,
		Clip: c.Clip, FracBits: c.FracBits, DampingBits: c.DampingBits, Damping: c.Damping,
		DampingDecay: c.DampingDecay, Beta: c.Beta, PrecisionUnit: c.PrecisionUnit,
		ClipHalvings: c.ClipHalvings, Steps: p.Steps, LearningRate: p.LearningRate,
		Local: p.Local, Factors: c.Factors, Optimiser: p.Optimiser, SDUnit: p.SDUnit,
		Sampling: p.Sampling, SampleRate: p.SampleRate, StartPrecision: c.StartPrecision,
		StartSpread: c.StartSpread, StatisticClip: p.StatisticClip, UpdateClip: c.UpdateClip,
		Parties: p.Parties, PrecisionFloor: c.PrecisionFloor,
		CurvatureFrom: c.CurvatureFrom, CurvatureBound: c.CurvatureBound, ResidualFrom: c.ResidualFrom,
		StepBound: c.StepBound, StepDoublings: c.StepDoublings, StepKept: c.StepKept,
	})
}

// UnmarshalJSON reads what MarshalJSON writes. Errors: ErrConfig for an unknown strategy,
// or for a parameter that the strategy does not have; encoding/json's, for unknown fields
// too.
func (c *Config) UnmarshalJSON(b []byte) error {
	var w wire
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return err
	}
	params := Params{
		Shards:        w.Shards,
		ShardPower:    w.ShardPower,
		ShardRows:     w.ShardRows,
		Local:         w.Local,
		Optimiser:     w.Optimiser,
		SDUnit:        w.SDUnit,
		Steps:         w.Steps,
		LearningRate:  w.LearningRate,
		Sampling:      w.Sampling,
		SampleRate:    w.SampleRate,
		StatisticClip: w.StatisticClip,
		Parties:       w.Parties,
	}
	s, err := params.Strategy(w.Strategy)
	if err != nil {
		return err
	}
	*c = Config{
		Model: w.Model, Family: w.Family, Strategy: s, Features: w.Features,
		PriorPrecision: w.PriorPrecision, NoiseSD: w.NoiseSD,
		Parameters: w.Parameters, Hidden: w.Hidden, Samples: w.Samples, PriorSpread: w.PriorSpread,
		Clip: w.Clip, FracBits: w.FracBits, DampingBits: w.DampingBits, Damping: w.Damping,
		DampingDecay: w.DampingDecay, Beta: w.Beta, Factors: w.Factors,
		PrecisionUnit: w.PrecisionUnit, ClipHalvings: w.ClipHalvings,
		StartPrecision: w.StartPrecision, StartSpread: w.StartSpread, UpdateClip: w.UpdateClip,
		PrecisionFloor: w.PrecisionFloor, CurvatureFrom: w.CurvatureFrom, CurvatureBound: w.CurvatureBound,
		ResidualFrom: w.ResidualFrom, StepBound: w.StepBound, StepDoublings: w.StepDoublings,
		StepKept: w.StepKept,
	}
	return nil
}
