package terms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/defaults"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// planned are the facts that a plan shows.
func planned(p *protocol.Plan, a *app.PVI) (defaults.Facts, error) {
	schema, err := a.Encoding()
	if err != nil {
		return defaults.Facts{}, err
	}
	learning := a.LearningRounds(p)
	f := factsOf(schema, learning, a.CentreRounds)
	f.Parties = p.Parties()
	f.Records = a.Records
	f.Prior = a.PVI.PriorPrecision
	if p.Noise != protocol.NoiseNone && a.PVI.Model != bayes.External {
		f.Noise = perRelease(p, a.PVI.Strategy.Name(), learning)
	}
	return f, nil
}

// outlook warns of what a plan's noise will do to its learning, before anybody has signed: what
// it would take is in the warning. Empty is nothing to warn of.
func outlook(p *protocol.Plan) (string, error) {
	switch p.Application {
	case app.NameShuffle:
		return reportOutlook(p), nil
	case app.NameGlobal:
		return globalOutlook(p)
	case app.NameStatistics:
		return statisticsOutlook(p)
	case app.NameMCMC:
		a, err := app.Of(p)
		if err != nil {
			return "", err
		}
		return a.(*app.MCMC).Outlook(p), nil
	case app.NamePVI:
		return pviOutlook(p)
	}
	return "", nil
}

// pviOutlook is outlook for partitioned variational inference.
func pviOutlook(p *protocol.Plan) (string, error) {
	a, err := app.PVIOf(p)
	if err != nil {
		return "", err
	}
	name := a.PVI.Strategy.Name()
	if a.PVI.Model == bayes.External {
		return "", nil
	}
	f, err := planned(p, a)
	if err != nil {
		return "", err
	}
	if a.PVI.Model == bayes.Linear && name == pvi.NameVirtual {
		s := onSum(p) * a.PVI.Clip * travelled(a.PVI, a.PVI.Learning(f.Rounds))
		return f.VirtualLinearOutlook(s, defaults.Gaussian(a.PVI.NoiseSD)), nil
	}
	if a.PVI.Model == bayes.Linear {
		plain := a.PVI.Family == gauss.Full && byRecords(name) && name != pvi.NameAnalytic
		return f.LinearOutlook(name, plain), nil
	}
	if byRecords(name) {
		d := draft{cfg: a.PVI, p: a.PVI.Strategy.Params(), name: name}
		return f.StepsOutlook(d.like(), orElse(d.p.SampleRate, 1), defaults.RoundsOf(name) == 1), nil
	}
	if a.PVI.Strategy.Params().Optimiser == pvi.Newton {
		return f.NewtonOutlook(curvatureOf(a.PVI)), nil
	}
	if w := f.Outlook(byParty(name)); w != "" {
		return w, nil
	}
	if name == pvi.NameVirtual && a.PVI.Strategy.Params().Optimiser == pvi.Natural {
		if d := f.Virtual(); f.Rounds < d.Wanted/2 {
			return fmt.Sprintf("%d rounds are few for these columns: a step can only go %.2g of the way without "+
				"diverging; the default is %d rounds",
				f.Rounds, d.Damping, virtualRule(a.PVI.Model)(f).Wanted), nil
		}
	}
	return "", nil
}

// globalOutlook is Outlook for global inference, whose rounds sum samples of records.
func globalOutlook(p *protocol.Plan) (string, error) {
	a, err := app.Of(p)
	if err != nil {
		return "", err
	}
	schema, err := a.Encoding()
	if err != nil {
		return "", err
	}
	g := a.(*app.GlobalVI).Global
	f := factsOf(schema, int(p.Rounds), app.CentreRounds(a))
	f.Parties = p.Parties()
	f.Records = g.Records
	if p.Noise != protocol.NoiseNone {
		f.Noise = onSum(p) / (g.SampleRate * math.Sqrt(float64(f.Rounds)))
	}
	return f.Outlook(false), nil
}

// statisticsOutlook is Outlook for sufficient statistics.
func statisticsOutlook(p *protocol.Plan) (string, error) {
	a, err := app.Of(p)
	if err != nil {
		return "", err
	}
	schema, err := a.Encoding()
	if err != nil || p.Noise == protocol.NoiseNone {
		return "", err
	}
	f := factsOf(schema, int(p.Rounds), 0)
	f.Parties = p.Parties()
	c := a.(*app.Statistics).Statistics
	f.Records = c.Records
	f.Noise = onSum(p) / math.Sqrt(float64(p.Rounds))
	return orElse(f.StatisticsOutlook(), momentsOutlook(p, c, schema)), nil
}

// curvatureOf is the curvature of a record of mean square 1; 0 for a logistic model, for which
// package defaults has one.
func curvatureOf(c pvi.Config) float64 {
	if c.Model != bayes.Linear {
		return 0
	}
	return 1 / (c.NoiseSD * c.NoiseSD)
}

// Parameter is a setting of a plan's learning.
type Parameter struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	Source string          `json:"source"` // "named", or the rule of a default
}

// rules are where the defaults of a strategy come from, by setting.
var rules = map[pvi.StrategyName]map[string]string{
	pvi.NameVirtual: {
		"rounds":          "default: as many as keep steps stable for these columns, 20 to 120",
		"shards":          "default: one factor for every record, at most this many a party",
		"shard_rows":      "default: one factor for every record",
		"clip":            "default: by a record's norm and the root of records over noise",
		"damping":         "default: stable for these columns, 1 to 4 passes, more where noise is little",
		"start_precision": "default: by a record's norm and the noise of the run, and the records",
		"precision_floor": "default: by a record's norm and the noise of the run",
		"optimiser":       oneStep,
		"steps":           oneStep,
		"learning_rate":   oneStep,
	},
	pvi.NameDataset: {
		"rounds":          "default: 16, and more where steps are short",
		"shards":          "default: one step a party",
		"clip":            "default: so that a mean step moves the public mean by itself",
		"step_bound":      "default: .6 to 1.2 times the step of an average party, by the noise",
		"step_doublings":  "default: as many as reach the prior's weights, where the noise allows",
		"step_kept":       "default: by the bound over the step of an average party",
		"damping":         "default: of a filter that knows the noise",
		"damping_decay":   "default: late rounds average",
		"start_precision": "default: what the noise and the records leave",
		"optimiser":       "default: one Newton step a round",
	},
	pvi.NameOptimisation: {
		"clip":            "default: 1.25 times a record's usual length in the posterior's units",
		"sd_unit":         "default: precisions' part of a record as long as the means'",
		"start_precision": "default: twice the floor, or a third of what the records are expected to tell",
		"precision_floor": "default: so that a logit's noise stays below 0.8",
		"optimiser":       "default: five natural-gradient steps a round",
		"steps":           "default: five natural-gradient steps a round",
		"learning_rate":   "default: a tenth of the way a step",
		"damping":         "default: late rounds average",
		"damping_decay":   "default: late rounds average",
		"sampling":        "default: a tenth of the records a step",
		"sample_rate":     "default: a tenth of the records a step",
	},
	networkSteps: {
		"clip":            "default: a record's usual length at the start, up to 2.5 times where noise allows",
		"sd_unit":         "default: steps move widths less than means",
		"start_precision": "default: a two-hundredth of the records, 40 to 200",
		"optimiser":       "default: five gradient steps a round",
		"steps":           "default: five gradient steps a round",
		"learning_rate":   "default: 40 mean gradients in all, while a logit's noise stays below 0.5",
		"damping":         "default: late rounds average",
		"damping_decay":   "default: late rounds average",
		"sampling":        "default: a tenth of the records a step",
		"sample_rate":     "default: a tenth of the records a step",
	},
	pvi.NamePerturbation: {
		"rounds":          "default: as many as keep steps stable for these columns, 5 to 120",
		"shards":          "default: one factor a party",
		"clip":            "default: by a record's norm and the square of parties over noise",
		"damping":         "default: stable for these columns, 1 pass in all rounds",
		"start_precision": "default: by a record's norm and the noise of the run, and the records",
		"precision_floor": "default: by a record's norm and the noise of the run",
		"optimiser":       oneStep,
		"steps":           oneStep,
		"learning_rate":   oneStep,
	},
}

// models are the rules that go with the model, or with any strategy.
var models = map[string]string{
	"centre_rounds": "default: a tenth of the others, at least 3, for columns encoded by their range",
	"noise_sd":      "default: half the variance that the encoded target is expected to have",
	"residual_from": "default: the last one, or two of parties, where noise is below the noise_sd's square",
	"hidden":        "default: the root of records over noise and a record's norm, 5 to 20",
	"samples":       "default: one antithetic pair",
	"start_spread":  "default: so that units differ",
	"prior_spread":  "default: so that units differ",
}

// networkSteps has the rules of a network's noisy steps.
const networkSteps pvi.StrategyName = "network"

const oneStep = "default: one natural-gradient step a round"

// Parameters lists the settings of a plan's learning with where they come from. A value that
// is the default that follows from the plan's own numbers is a default; any other was named.
func Parameters(p *protocol.Plan) ([]Parameter, error) {
	if p.Application != app.NamePVI {
		return nil, nil
	}
	a, err := app.PVIOf(p)
	if err != nil {
		return nil, err
	}
	f, err := planned(p, a)
	if err != nil {
		return nil, err
	}
	keys, have, err := fields(a.PVI)
	if err != nil {
		return nil, err
	}
	would, rounds, err := unnamed(p, a, f)
	if err != nil {
		return nil, err
	}
	name := a.PVI.Strategy.Name()
	if byParty(name) && a.PVI.Strategy.Params().Optimiser != pvi.Newton {
		name = pvi.NamePerturbation
	}
	if byRecords(name) {
		name = pvi.NameOptimisation
		if a.PVI.Model == bayes.BNN && a.PVI.Strategy.Params().Optimiser == pvi.SGD {
			name = networkSteps
		}
	}
	from := origin(rules[name])
	out := []Parameter{{"rounds", json.RawMessage(fmt.Sprint(p.Rounds)),
		from.source("rounds", float64(p.Rounds), float64(a.Evaluation.Total(rounds)))}}
	if a.CentreRounds > 0 {
		out = append(out, Parameter{"centre_rounds", json.RawMessage(fmt.Sprint(a.CentreRounds)),
			from.source("centre_rounds", float64(a.CentreRounds), float64(centre.RoundsOf(a.LearningRounds(p))))})
	}
	for _, k := range keys {
		if k == "frac_bits" || k == "damping_bits" || k == "features" {
			continue
		}
		value, err := json.Marshal(have[k])
		if err != nil {
			return nil, err
		}
		out = append(out, Parameter{k, value, from.source(k, have[k], would[k])})
	}
	return out, nil
}

// unnamed is the configuration that a plan's file would have led to that names no more than
// model, strategy, records, prior and what differs of clip and steps, and its rounds.
func unnamed(p *protocol.Plan, a *app.PVI, f defaults.Facts) (map[string]any, int, error) {
	schema, err := a.Encoding()
	if err != nil {
		return nil, 0, err
	}
	t := Terms{Members: p.Members, Rounds: a.LearningRounds(p), Noise: p.Noise}
	l := LearningConfig{Model: string(a.PVI.Model), Strategy: string(a.PVI.Strategy.Name()),
		Family:  string(a.PVI.Family),
		Records: a.Records, PriorPrecision: a.PVI.PriorPrecision}
	d := l.draft(t, schema)
	l.fill(&d, f)
	l.takeNamed(a.PVI, d)
	d = l.draft(t, schema)
	l.fill(&d, f)
	free := f
	free.Rounds = 0
	rounds := l.fill(new(l.draft(t, schema)), free)
	if a.CentreRounds > 0 {
		rounds += centre.Rounds(rounds)
	}
	cfg := d.cfg
	if cfg.Strategy, err = d.p.Strategy(d.name); err != nil {
		return nil, 0, err
	}
	_, would, err := fields(cfg)
	l.dropNamed(would)
	return would, rounds, err
}

// takeNamed takes from a plan's configuration what differs from the defaults in d and on which
// others depend.
func (l *LearningConfig) takeNamed(c pvi.Config, d draft) {
	have := c.Strategy.Params()
	if byRecords(d.name) && !near(have.SampleRate, d.p.SampleRate) {
		l.Sampling = string(have.Sampling)
		l.SampleRate = have.SampleRate
	}
	if !near(c.NoiseSD, d.cfg.NoiseSD) {
		l.NoiseSD = c.NoiseSD
	}
	if have.Optimiser != d.p.Optimiser || have.Steps != d.p.Steps || have.LearningRate != d.p.LearningRate {
		l.Optimiser = string(have.Optimiser)
		l.Steps = have.Steps
		l.LearningRate = have.LearningRate
	}
	if !near(c.Clip, d.cfg.Clip) {
		l.Clip = c.Clip
	}
	if !near(c.Damping, d.cfg.Damping) {
		l.Damping = c.Damping
	}
	if !near(c.DampingDecay, d.cfg.DampingDecay) {
		l.DampingDecay = c.DampingDecay
	}
}

// dropNamed deletes what was named from the settings that a file without it leads to.
func (l LearningConfig) dropNamed(would map[string]any) {
	for _, named := range []struct {
		key string
		is  bool
	}{{"clip", l.Clip != 0}, {"damping", l.Damping != 0}, {"noise_sd", l.NoiseSD != 0}} {
		if named.is {
			delete(would, named.key)
		}
	}
	if l.named() {
		delete(would, "optimiser")
		delete(would, "steps")
		delete(would, "learning_rate")
	}
	if l.SampleRate != 0 {
		delete(would, "sampling")
		delete(would, "sample_rate")
	}
}

// fields are a configuration's numbers and names by their keys in a plan, in order.
func fields(c pvi.Config) (keys []string, values map[string]any, err error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err != nil {
			return keys, values, nil
		}
		if key, ok := token.(string); ok && values[key] != nil && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
}

// origin has the rules of one strategy.
type origin map[string]string

func (o origin) source(key string, have, would any) string {
	a, number := have.(float64)
	b, also := would.(float64)
	if have != would && !(number && also && near(a, b)) {
		return "named"
	}
	if rule := o[key]; rule != "" {
		return rule
	}
	if rule := models[key]; rule != "" {
		return rule
	}
	return "default"
}

// near allows for the rounding of the noise to the plan's grid.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.02*math.Abs(b) }
