package terms

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/defaults"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// LearningConfig describes a DP-PVI plan; see pvi.Config for the fields' meaning. What is
// zero isn't named and gets a default that follows from the plan: see package defaults.
type LearningConfig struct {
	SchemaFile     string         `toml:"schema_file"`
	Schema         map[string]any `toml:"schema"`
	Model          string         `toml:"model"`    // default by the schema's target: logistic or linear
	Strategy       string         `toml:"strategy"` // default virtual; with model linear sufficient statistics
	Family         string         `toml:"family"`   // mean-field (default) or full
	Records        int64          `toml:"records"`  // declared number of all parties' records
	Shards         int            `toml:"shards"`
	ShardPower     float64        `toml:"shard_power"`
	ShardRows      int            `toml:"shard_rows"`
	Clip           float64        `toml:"clip"`
	PriorPrecision float64        `toml:"prior_precision"` // default 1
	PrecisionFloor float64        `toml:"precision_floor"`
	NoiseSD        float64        `toml:"noise_sd"`
	Parameters     int            `toml:"parameters"`
	Hidden         int            `toml:"hidden"`
	Samples        int            `toml:"samples"`
	PriorSpread    float64        `toml:"prior_spread"`
	Damping        float64        `toml:"damping"`
	DampingDecay   float64        `toml:"damping_decay"`
	Beta           float64        `toml:"beta"`
	Factors        string         `toml:"factors"`
	PrecisionUnit  float64        `toml:"precision_unit"`
	ClipHalvings   int            `toml:"clip_halvings"`
	Steps          int            `toml:"steps"`
	LearningRate   float64        `toml:"learning_rate"`
	Optimiser      string         `toml:"optimiser"`
	Sampling       string         `toml:"sampling"`
	SampleRate     float64        `toml:"sample_rate"`
	StartPrecision float64        `toml:"start_precision"`
	StartSpread    float64        `toml:"start_spread"`
	SDUnit         float64        `toml:"sd_unit"`
	StatisticClip  float64        `toml:"statistic_clip"`
	UpdateClip     float64        `toml:"update_clip"`
	Weights        []float64      `toml:"weights"` // by party in order of name; default equal
	// CurvatureRounds is how many of the last rounds reveal the curvature, for posteriors that
	// know their correlations. The default is as many as the whole of it takes, if that is at
	// most a third of the rounds; -1 is none.
	CurvatureRounds int `toml:"curvature_rounds"`
	// ResidualRounds is how many of the last rounds of linear regression sum squares of residuals; -1 is none.
	ResidualRounds int `toml:"residual_rounds"`
	// StepBound is the largest step of a party with optimiser "newton".
	StepBound float64 `toml:"step_bound"`
	// StepDoublings is by how many factors of 2 the first rounds' bound on a step exceeds it.
	StepDoublings int `toml:"step_doublings"`
	// StepKept is the share of a step's slope that the bound is expected to keep near the true weights.
	StepKept float64 `toml:"step_kept"`
	// CentreRounds is the number of rounds that measure the centres of columns that are
	// encoded by their range; nil is the default.
	CentreRounds *int `toml:"centre_rounds"`
}

func (l *LearningConfig) schema() (string, map[string]any) { return l.SchemaFile, l.Schema }

func (l *LearningConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	return l.Spec(t, schema)
}

// Spec is the application that the configuration describes under the terms, and its number
// of rounds. Linear regression without a strategy is by sufficient statistics.
func (l LearningConfig) Spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	if l.Model == "" {
		l.Model = modelOf(schema)
	}
	if err := suits(bayes.Model(l.Model), schema); err != nil {
		return nil, 0, err
	}
	if l.Model == string(bayes.Linear) && l.Strategy == "" {
		return l.statistics().spec(t, schema)
	}
	l.Strategy = orElse(l.Strategy, defaultStrategy(l.Model))
	if err := l.fits(pvi.StrategyName(l.Strategy), t.Rounds); err != nil {
		return nil, 0, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	parties := t.parties()
	weights := l.Weights
	if weights == nil {
		for range parties {
			weights = append(weights, 1/float64(parties))
		}
	}
	d := l.draft(t, schema)
	f, err := t.facts(d, l, schema)
	if err != nil {
		return nil, 0, err
	}
	if t.Rounds == 0 {
		t.Rounds = l.fill(&d, f)
		if t.Rounds > 0 {
			t.Rounds += l.centring(d, t, schema, centre.Rounds(t.Rounds))
		}
		d = l.draft(t, schema)
		if byRecords(d.name) && t.Rounds == defaults.RoundsOf(d.name) { // the noise is known, and costly
			f.Rounds = t.Rounds
		} else if f, err = t.facts(d, l, schema); err != nil {
			return nil, 0, err
		}
	}
	l.fill(&d, f)
	cfg, err := d.config()
	if err != nil {
		return nil, 0, err
	}
	return &app.PVI{Version: 1, PVI: cfg, Weights: weights, Schema: json.RawMessage(canonical),
		Records: l.Records, CentreRounds: f.Centre}, t.Rounds, nil
}

// centring returns the number of rounds that measure the columns' centres: what is named, or by default so
// many, if one natural-gradient step a round, or parties' Newton steps, learn from columns that may lie away
// from 0.
func (l LearningConfig) centring(d draft, t Terms, schema *dataset.Schema, byDefault int) int {
	able := d.cfg.Model == bayes.Linear || d.cfg.Model == bayes.Logistic && d.cfg.Family == gauss.MeanField
	switch d.name {
	case pvi.NameVirtual:
		able = able && !l.named()
	case pvi.NameDataset:
		able = able && orElse(d.p.Optimiser, pvi.Newton) == pvi.Newton
	case pvi.NameOptimisation:
		able = able && orElse(d.p.Optimiser, pvi.Natural) == pvi.Natural
		if t.Noise != protocol.NoiseNone { // every party's
			t.Noise = protocol.NoiseParty
		}
	default:
		able = false
	}
	return t.measuring(l.CentreRounds, able, schema, byDefault)
}

// measuring is how many rounds measure centres: what is named, or by default so many if the method is able
// to, the noise is joint and a column may lie away from 0.
func (t Terms) measuring(named *int, able bool, schema *dataset.Schema, byDefault int) int {
	joint := t.Noise == protocol.NoiseParty || t.Noise == protocol.NoiseCompute
	switch {
	case named != nil:
		return *named
	case able && joint && centre.Of(schema).Len() > 0:
		return byDefault
	}
	return 0
}

// leftToLearn returns an error unless this number of all rounds may measure.
func leftToLearn(measuring, rounds int) error {
	if measuring < 0 || measuring > 0 && measuring >= rounds {
		return fmt.Errorf("centre_rounds is %d of %d rounds that don't evaluate, want 0 to %d: none is left to "+
			"learn", measuring, rounds, rounds-1)
	}
	return nil
}

// draft is a configuration and its strategy's parameters while defaults are filled in.
type draft struct {
	cfg  pvi.Config
	p    pvi.Params
	name pvi.StrategyName
}

func (d draft) config() (pvi.Config, error) {
	s, err := d.p.Strategy(d.name)
	if err != nil {
		return pvi.Config{}, fmt.Errorf("parameters: %w", err)
	}
	d.cfg.Strategy = s
	d.cfg.FracBits = GridFor(d.cfg.Clip)
	return d.cfg, nil
}

func modelOf(schema *dataset.Schema) string {
	if schema.Classification() {
		return string(bayes.Logistic)
	}
	return string(bayes.Linear)
}

// suitsClasses returns an error if a method for two classes can't predict the schema's target.
func suitsClasses(section string, schema *dataset.Schema) error {
	if schema.Classification() {
		return nil
	}
	return fmt.Errorf("%s: the method predicts one of two classes, and the schema's target %q is a number: "+
		"[statistics] has the posterior of linear regression", section, schema.Target.Name)
}

// suits returns an error if the model can't predict the schema's target.
func suits(m bayes.Model, schema *dataset.Schema) error {
	models := []bayes.Model{bayes.Logistic, bayes.Linear, bayes.BNN, bayes.External}
	switch {
	case !slices.Contains(models, m):
		return fmt.Errorf("model is %q, want one of %v, or none for the one that fits the target", m, models)
	case m == bayes.Linear && schema.Classification():
		return fmt.Errorf("model: linear predicts a number, and the schema's target %q has two classes: "+
			"leave model out",
			schema.Target.Name)
	case (m == bayes.Logistic || m == bayes.BNN) && !schema.Classification():
		return fmt.Errorf("model: %s predicts one of two classes, and the schema's target %q is a number: "+
			"leave model out",
			m, schema.Target.Name)
	}
	return nil
}

// fits returns an error if the strategy isn't for the model or not for a setting that would be ignored.
func (l LearningConfig) fits(s pvi.StrategyName, rounds int) error {
	switch {
	case (s == pvi.NameAnalytic || s == pvi.NameHybrid) && l.Model != string(bayes.Linear):
		return fmt.Errorf("strategy: %s is for linear regression, whose terms are sums over records, and the "+
			"model is %s: leave strategy out", s, l.Model)
	case l.ResidualRounds > 0 &&
		(l.Model != string(bayes.Linear) || s != pvi.NameVirtual && s != pvi.NameDataset):
		return fmt.Errorf("residual_rounds is %d, want none but for linear regression with strategy %q or %q",
			l.ResidualRounds, pvi.NameVirtual, pvi.NameDataset)
	case rounds > 0 && l.ResidualRounds >= rounds:
		return fmt.Errorf("residual_rounds is %d, want fewer than the %d rounds: one at least has to learn",
			l.ResidualRounds, rounds)
	case l.CurvatureRounds > 0 && byRecords(s) && s != pvi.NameOptimisation && s != pvi.NameHybrid:
		return fmt.Errorf("curvature_rounds is %d, want none with strategy %q", l.CurvatureRounds, s)
	}
	return nil
}

func defaultStrategy(model string) string {
	switch bayes.Model(model) {
	case bayes.Logistic, bayes.Linear, bayes.BNN:
		return string(pvi.NameVirtual)
	}
	return ""
}

// statistics is the section of sufficient statistics of linear regression.
func (l LearningConfig) statistics() *StatisticsConfig {
	return &StatisticsConfig{SchemaFile: l.SchemaFile, PriorPrecision: l.PriorPrecision, NoiseSD: l.NoiseSD,
		Records: l.Records}
}

// draft is the configuration with all that is named.
func (l LearningConfig) draft(t Terms, schema *dataset.Schema) draft {
	name := pvi.StrategyName(l.Strategy)
	cfg := pvi.Config{
		Model: bayes.Model(l.Model), Family: orElse(gauss.Family(l.Family), familyOf(name)), Features: schema.Dim(),
		PriorPrecision: orElse(l.PriorPrecision, 1), PrecisionFloor: l.PrecisionFloor, NoiseSD: l.NoiseSD,
		Parameters: l.Parameters, Hidden: l.Hidden, Samples: l.Samples, PriorSpread: l.PriorSpread,
		Clip: l.Clip, DampingBits: 16, Damping: l.Damping, DampingDecay: l.DampingDecay,
		Beta: l.Beta, Factors: pvi.Factors(l.Factors),
		PrecisionUnit: l.PrecisionUnit, ClipHalvings: l.ClipHalvings,
		StartPrecision: l.StartPrecision, StartSpread: l.StartSpread,
		UpdateClip: l.UpdateClip, StepBound: l.StepBound, StepDoublings: l.StepDoublings,
		StepKept: l.StepKept,
	}
	p := pvi.Params{
		Shards: max(1, l.Shards), ShardPower: l.ShardPower, ShardRows: l.ShardRows,
		Local: t.Noise == protocol.NoiseLocal || name.Local(), Optimiser: pvi.Optimiser(l.Optimiser),
		SDUnit: l.SDUnit, Steps: l.Steps, LearningRate: l.LearningRate, Sampling: pvi.Sampling(l.Sampling),
		SampleRate: l.SampleRate, StatisticClip: l.StatisticClip,
	}
	if name == pvi.NameBCMSplit {
		p.Parties = t.parties()
	}
	return draft{cfg, p, name}
}

// familyOf is a strategy's family where none is named.
func familyOf(name pvi.StrategyName) gauss.Family {
	if name == pvi.NameAnalytic {
		return gauss.Full
	}
	return gauss.MeanField
}

// parties is how many parties the terms have.
func (t Terms) parties() int {
	n := 0
	for _, m := range t.Members {
		if m.Role == protocol.RoleParty {
			n++
		}
	}
	return n
}

// facts are what the rules of package defaults go by. The noise is that of a trial plan with
// the same shape: in clips it doesn't depend on the clip.
func (t Terms) facts(d draft, l LearningConfig, schema *dataset.Schema) (defaults.Facts, error) {
	measuring := l.centring(d, t, schema, centre.RoundsOf(t.Rounds))
	if t.Rounds == 0 {
		measuring = l.centring(d, t, schema, 1)
	}
	f := factsOf(schema, t.Rounds, measuring)
	f.Parties = t.parties()
	f.Records = l.Records
	f.Prior = d.cfg.PriorPrecision
	if t.Noise == protocol.NoiseNone || d.cfg.Model == bayes.External {
		return f, nil
	}
	if d.name.Local() {
		t.Noise = protocol.NoiseLocal
	}
	shape := f
	shape.Noise = 1
	if byRecords(d.name) { // no curvature rounds by default
		shape.Noise = 0
	}
	t.Rounds = orElse(t.Rounds, l.fill(&d, shape))
	d.cfg.Clip = 1
	cfg, err := d.config()
	if err != nil {
		return f, err
	}
	p, err := t.trial(&app.PVI{PVI: cfg})
	if err != nil {
		return f, err
	}
	f.Noise = perRelease(p, d.name, t.Rounds)
	return f, nil
}

// factsOf are the facts of a schema and of a number of rounds, of which the first measure the
// columns' centres.
func factsOf(schema *dataset.Schema, rounds, measuring int) defaults.Facts {
	if measuring > 0 {
		schema = centre.Schema(schema, nil)
	}
	f := defaults.Of(schema)
	f.Rounds = max(0, rounds-measuring)
	if rounds > 0 {
		f.Centre = measuring
	}
	return f
}

// trial is a plan with the noise of the terms for an application of the same shape.
func (t Terms) trial(a app.Spec) (*protocol.Plan, error) {
	p, err := t.base()
	if err != nil {
		return nil, err
	}
	dim, bits := a.Size()
	p.Dim = uint32(dim)
	p.FracBits = bits
	if err := app.Cover(p, a); err != nil {
		return nil, err
	}
	return p, t.calibrate(p)
}

// perRelease is the noise by which the rules go: that of a plan with a single release, or of one
// step for strategies that clip records.
func perRelease(p *protocol.Plan, name pvi.StrategyName, rounds int) float64 {
	if byRecords(name) {
		return onSum(p)
	}
	return onSum(p) / math.Sqrt(float64(rounds))
}

// onSum is the standard deviation of all noise on a sum, in clips.
func onSum(p *protocol.Plan) float64 {
	v := app.SumVariance(p)
	if p.Noise == protocol.NoiseLocal {
		v = float64(p.Variance) * float64(p.Parties())
	}
	return math.Sqrt(v) / float64(p.Clip)
}
