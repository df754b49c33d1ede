package terms

import (
	"encoding/json"
	"fmt"
	"math"

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
	// StepBound is the largest step of a party with optimiser "newton".
	StepBound float64 `toml:"step_bound"`
	// StepDoublings is by how many factors of 2 the first round's bound on a step exceeds it.
	StepDoublings int `toml:"step_doublings"`
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
	if err := suits(pvi.Model(l.Model), schema); err != nil {
		return nil, 0, err
	}
	if l.Model == string(pvi.Linear) && l.Strategy == "" {
		return l.statistics().spec(t, schema)
	}
	l.Strategy = orElse(l.Strategy, defaultStrategy(l.Model))
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
		if f, err = t.facts(d, l, schema); err != nil {
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

// centring returns the number of rounds that measure the columns' centres: what is named,
// or by default so many, if one natural-gradient step a round learns from columns that may
// lie away from 0.
func (l LearningConfig) centring(d draft, t Terms, schema *dataset.Schema, byDefault int) int {
	joint := t.Noise == protocol.NoiseParty || t.Noise == protocol.NoiseCompute
	switch {
	case l.CentreRounds != nil:
		return *l.CentreRounds
	case joint && d.name == pvi.NameVirtual && d.cfg.Model == pvi.Logistic && !l.named() &&
		d.cfg.Family == gauss.MeanField && centre.Of(schema).Len() > 0:
		return byDefault
	}
	return 0
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
		return string(pvi.Logistic)
	}
	return string(pvi.Linear)
}

// suits returns an error if the model can't predict the schema's target.
func suits(m pvi.Model, schema *dataset.Schema) error {
	switch {
	case m == pvi.Linear && schema.Classification():
		return fmt.Errorf("model: linear predicts a number, and the schema's target %q has two classes",
			schema.Target.Name)
	case (m == pvi.Logistic || m == pvi.BNN) && !schema.Classification():
		return fmt.Errorf("model: %s predicts one of two classes, and the schema's target %q is a number",
			m, schema.Target.Name)
	}
	return nil
}

func defaultStrategy(model string) string {
	switch pvi.Model(model) {
	case pvi.BNN:
		return string(pvi.NameOptimisation)
	case pvi.Logistic, pvi.Linear:
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
		Model: pvi.Model(l.Model), Family: orElse(gauss.Family(l.Family), gauss.MeanField), Features: schema.Dim(),
		PriorPrecision: orElse(l.PriorPrecision, 1), PrecisionFloor: l.PrecisionFloor, NoiseSD: l.NoiseSD,
		Parameters: l.Parameters, Hidden: l.Hidden, Samples: l.Samples, PriorSpread: l.PriorSpread,
		Clip: l.Clip, DampingBits: 16, Damping: l.Damping, DampingDecay: l.DampingDecay,
		Beta: l.Beta, Factors: pvi.Factors(l.Factors), StartPrecision: l.StartPrecision, StartSpread: l.StartSpread,
		UpdateClip: l.UpdateClip, StepBound: l.StepBound, StepDoublings: l.StepDoublings,
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

// fill enters defaults for what isn't named and returns the number of rounds.
func (l LearningConfig) fill(d *draft, f defaults.Facts) int {
	known := d.cfg.Model != pvi.External && d.cfg.Model != pvi.BNN
	switch {
	case d.name == pvi.NameVirtual && known:
		if l.Shards == 0 && l.ShardPower == 0 && l.ShardRows == 0 {
			d.p.ShardRows = 1
			d.p.Shards = pvi.MaxShards
			if l.Records > 0 {
				d.p.Shards = int(min(l.Records, pvi.MaxShards))
			}
		}
		return l.shards(d, f, defaults.Facts.Virtual)
	case l.newton(d, f):
		return l.steps(d, f)
	case byParty(d.name) && known:
		return l.shards(d, f, defaults.Facts.Dataset)
	case bySteps(d.name) && d.cfg.Model != pvi.External && d.cfg.Model != pvi.Linear:
		return l.optimisation(d, f)
	}
	d.cfg.PrecisionFloor = orElse(d.cfg.PrecisionFloor, d.cfg.PriorPrecision)
	return orElse(f.Rounds, defaults.RoundsOf(d.name))
}

// byParty reports whether one term of a sum is what all of a party's records lead to.
func byParty(name pvi.StrategyName) bool {
	return name == pvi.NameDataset || name == pvi.NameAveraging || name == pvi.NamePerturbation
}

// bySteps reports whether a strategy takes noisy steps.
func bySteps(name pvi.StrategyName) bool {
	return name == pvi.NameOptimisation || name == pvi.NameBCMSame || name == pvi.NameBCMSplit
}

// named reports whether the configuration names an optimiser or a part of one.
func (l LearningConfig) named() bool { return l.Steps != 0 || l.LearningRate != 0 || l.Optimiser != "" }

// shards fills in the strategies whose terms are shards' updates.
func (l LearningConfig) shards(d *draft, f defaults.Facts, way func(defaults.Facts) defaults.Shards) int {
	c := &d.cfg
	curvature := l.curvature(d, f, way(f).Wanted)
	if f.Rounds > 0 {
		f.Rounds -= curvature
	}
	rule := way(f)
	total := rule.Rounds + curvature
	c.Damping = orElse(c.Damping, rule.Damping)
	if f.Noise > 0 {
		c.Clip = orElse(c.Clip, rule.Clip)
	}
	if c.Model == pvi.Linear {
		c.NoiseSD = orElse(c.NoiseSD, defaults.NoiseSD)
		if l.Clip == 0 && f.Noise > 0 {
			c.Clip = defaults.LinearClip(rule.Clip, c.NoiseSD)
		}
	} else if !l.named() {
		d.p.Optimiser = pvi.Natural
		d.p.Steps = 1
		d.p.LearningRate = 1
	}
	if d.p.Optimiser == pvi.Natural || c.Model == pvi.Linear {
		s := f.Noise * math.Sqrt(float64(total+f.Centre)) * c.Clip * travelled(*c, rule.Rounds)
		p := f.Precisions(s, d.name != pvi.NameVirtual)
		c.StartPrecision = orElse(c.StartPrecision, p.Start)
		c.PrecisionFloor = orElse(c.PrecisionFloor, p.Floor)
	}
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	c.CurvatureFrom = 0
	c.CurvatureBound = 0
	if curvature > 0 {
		c.CurvatureFrom = rule.Rounds + 1
		c.CurvatureBound = l.curvatureBound(d, f)
	}
	return total
}

// newton reports whether parties send Newton steps: the default at the dataset level under joint
// noise.
func (l LearningConfig) newton(d *draft, f defaults.Facts) bool {
	if l.Optimiser == string(pvi.Newton) {
		return true
	}
	return d.name == pvi.NameDataset && (d.cfg.Model == pvi.Logistic || d.cfg.Model == pvi.Linear) &&
		!l.named() && f.Noise > 0 && !d.p.Local && d.cfg.Family == gauss.MeanField && d.cfg.Beta == 0 &&
		l.Factors == ""
}

// steps fills in Newton steps.
func (l LearningConfig) steps(d *draft, f defaults.Facts) int {
	c := &d.cfg
	d.p.Optimiser = pvi.Newton
	if c.Model == pvi.Linear {
		c.NoiseSD = orElse(c.NoiseSD, defaults.NoiseSD)
	} else {
		d.p.Steps = 1
		d.p.LearningRate = 1
	}
	rule := f.Newton(curvatureOf(*c))
	c.Clip = orElse(c.Clip, rule.Clip)
	if c.StepBound == 0 {
		c.StepBound = rule.StepBound
		c.StepDoublings = orElse(c.StepDoublings, rule.Doublings)
	}
	c.Damping = orElse(c.Damping, rule.Damping)
	c.DampingDecay = orElse(c.DampingDecay, rule.Decay)
	c.StartPrecision = orElse(c.StartPrecision, rule.Precision)
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	return rule.Rounds
}

// curvature is how many rounds reveal the curvature; wanted is how many should learn.
func (l LearningConfig) curvature(d *draft, f defaults.Facts, wanted int) int {
	if l.CurvatureRounds != 0 {
		return max(0, l.CurvatureRounds)
	}
	whole := d.cfg.CurvatureSlices()
	fits := 2*whole <= wanted && (f.Rounds == 0 || 3*whole <= f.Rounds)
	natural := d.cfg.Model == pvi.Linear || !l.named()
	if !fits || !natural || f.Noise == 0 || !f.ShowsCurvature() || d.name != pvi.NameVirtual || d.p.Local ||
		d.cfg.Family != gauss.MeanField {
		return 0
	}
	return whole
}

// curvatureBound is the norm of a shard's slice of the curvature that becomes the clip, which
// few exceed: a record's curvature is c x x' with c at most 1/4 for a logistic model, and less
// for most records, and c = 1/noise_sd^2 for a linear one.
func (l LearningConfig) curvatureBound(d *draft, f defaults.Facts) float64 {
	size := logisticCurvature * f.Norm * f.Norm
	if d.cfg.Model == pvi.Linear {
		size = 1.5 * f.Norm * f.Norm / (d.cfg.NoiseSD * d.cfg.NoiseSD)
	}
	rows := float64(max(1, d.p.ShardRows))
	if d.p.ShardRows == 0 {
		rows = max(1, float64(f.AssumedRecords())/float64(f.Parties*d.p.Shards))
	}
	v := size * rows / math.Sqrt(float64(d.cfg.CurvatureSlices()))
	return short(v)
}

// logisticCurvature is the curvature of a record in squares of its norm that few records exceed.
const logisticCurvature = 0.2

// short is a number of few digits in a plan.
func short(v float64) float64 { return math.Ldexp(math.Round(math.Ldexp(v, 10)), -10) }

// travelled is the root of the sum of the squared dampings of a run: the noise of its states
// in units of that on a sum.
func travelled(c pvi.Config, rounds int) float64 {
	sum := 0.0
	for s := range rounds {
		a := c.Damping / (1 + c.DampingDecay*float64(s))
		sum += a * a
	}
	return math.Sqrt(sum)
}

// optimisation fills in DP optimisation.
func (l LearningConfig) optimisation(d *draft, f defaults.Facts) int {
	rule := f.Optimisation(d.cfg.Model == pvi.BNN)
	if defaults.RoundsOf(d.name) == 1 {
		rule = rule.Once()
	}
	c := &d.cfg
	if !l.named() {
		d.p.Optimiser = rule.Optimiser
		d.p.Steps = rule.Steps
		d.p.LearningRate = rule.LearningRate
		d.p.SDUnit = orElse(d.p.SDUnit, rule.SDUnit)
		c.StartPrecision = orElse(c.StartPrecision, rule.StartPrecision)
		c.StartSpread = orElse(c.StartSpread, rule.StartSpread)
		c.PrecisionFloor = orElse(c.PrecisionFloor, rule.PrecisionFloor)
		c.DampingDecay = orElse(c.DampingDecay, rule.DampingDecay)
		c.Hidden = orElse(c.Hidden, rule.Hidden)
		c.Samples = orElse(c.Samples, rule.Samples)
		if l.Sampling == "" && l.SampleRate == 0 {
			d.p.Sampling = pvi.SamplingPoisson
			d.p.SampleRate = rule.SampleRate
		}
	}
	c.Clip = orElse(c.Clip, rule.Clip)
	c.Damping = orElse(c.Damping, rule.Damping)
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	return orElse(f.Rounds, defaults.RoundsOf(d.name))
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
	if t.Noise == protocol.NoiseNone || d.name != pvi.NameVirtual && !byParty(d.name) {
		return f, nil
	}
	if d.name.Local() {
		t.Noise = protocol.NoiseLocal
	}
	shape := f
	shape.Noise = 1
	t.Rounds = orElse(t.Rounds, l.fill(&d, shape))
	d.cfg.Clip = 1
	cfg, err := d.config()
	if err != nil {
		return f, err
	}
	trial := &app.PVI{PVI: cfg}
	p, err := t.base()
	if err != nil {
		return f, err
	}
	dim, bits := trial.Size()
	p.Dim = uint32(dim)
	p.FracBits = bits
	if err := app.Cover(p, trial); err != nil {
		return f, err
	}
	if err := t.calibrate(p); err != nil {
		return f, err
	}
	f.Noise = onSum(p) / math.Sqrt(float64(t.Rounds))
	return f, nil
}

// factsOf are the facts of a schema and of so many rounds, of which the first measure the
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

// onSum is the standard deviation of all noise on a sum, in clips.
func onSum(p *protocol.Plan) float64 {
	v := app.SumVariance(p)
	if p.Noise == protocol.NoiseLocal {
		v = float64(p.Variance) * float64(p.Parties())
	}
	return math.Sqrt(v) / float64(p.Clip)
}
