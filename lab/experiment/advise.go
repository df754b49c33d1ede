package experiment

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"choir/crypto/noise"
	"choir/internal/config"
	"choir/lab/bed"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/global"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// Advisor compares the settings of a plan on synthetic twins, from public knowledge alone:
// the schema, the numbers of records and the budget.
type Advisor struct {
	Schema              *dataset.Schema
	Records             []int // of each party
	Computes            int
	Colluders, Dropouts int
	Epsilon, Delta      float64
	Accuracy            float64 // known from the literature, of a model without privacy; 0: unknown
	Worlds              int     // populations drawn for each strength and structure of the signal
	Seed                uint64
	Progress            func(done, total int, what string)

	done, total int
	now         time.Time
	unequal     map[float64]dataset.Twins // by signal
}

// Advice is what an Advisor found.
type Advice struct {
	SchemaVersion int       `json:"schema_version"`
	Linear        bool      `json:"linear"`
	Epsilon       float64   `json:"epsilon"`
	Delta         float64   `json:"delta"`
	Records       []int     `json:"records"`
	Signals       []float64 `json:"signals"` // strengths of the twins' signal
	// Settings are sorted, the best first.
	Settings []Advised `json:"settings"`
	// Alone is a party alone without privacy, by signal: one with the most records, if others have less than
	// half of them. Fewest is then one with the fewest.
	Alone     []Expected    `json:"alone"`
	Fewest    []Expected    `json:"alone_with_fewest,omitempty"`
	Majority  []Expected    `json:"majority"` // the majority class, or the mean, by signal
	Layers    []terms.Layer `json:"layers"`   // of the best setting: who learns what
	BreakEven []string      `json:"break_even"`
	Warnings  []string      `json:"warnings"`
	Seconds   float64       `json:"seconds"`

	best terms.PlanConfig
}

// Advised is a setting with what it is expected to reach.
type Advised struct {
	Name    string     `json:"name"`
	Rounds  int        `json:"rounds"`
	Scores  []Expected `json:"scores"` // by signal
	Mean    float64    `json:"mean_log_likelihood"`
	Upload  int        `json:"upload_bytes_per_party"` // in the whole session
	Minutes float64    `json:"minutes"`                // at roundSeconds a round
	Refused string     `json:"refused,omitempty"`      // why there is no such plan

	config terms.PlanConfig
}

// Expected is an interval at 90 % for the scores of one session with other data of that signal and of any
// of the twins' structures: its middle and half its width.
type Expected struct {
	Accuracy       float64 `json:"accuracy"`
	AccuracyMargin float64 `json:"accuracy_margin"`
	LogLik         float64 `json:"log_likelihood"`
	LogLikMargin   float64 `json:"log_likelihood_margin"`
}

// Bounds on the advisor's work, and what a round takes between sites.
const (
	mostAdvised  = 200
	mostRows     = 60_000
	advisedTest  = 1500 // rows to test on
	testPart     = 1 << 20
	roundSeconds = 2 // an estimate for members on the internet
)

// Run draws, learns and compares.
func (ad *Advisor) Run(ctx context.Context) (*Advice, error) {
	began := time.Now()
	ad.now = began
	if err := ad.check(); err != nil {
		return nil, err
	}
	a := &Advice{SchemaVersion: 1, Linear: !ad.Schema.Classification(), Epsilon: ad.Epsilon, Delta: ad.Delta,
		Records: ad.Records, Warnings: []string{}, BreakEven: []string{}}
	a.Signals = []float64{1, 2, 5}
	if ad.Accuracy != 0 {
		a.Signals = []float64{signalFor(ad.Accuracy)}
	}
	settings := ad.settings()
	ad.total = (len(settings)+1)*len(a.Signals)*structures*ad.Worlds + breakEvenSteps
	if a.Uneven() {
		ad.total += breakEvenSteps
	}
	for _, s := range settings {
		if err := ad.judge(ctx, a, &s); err != nil {
			return nil, err
		}
		a.Settings = append(a.Settings, s)
	}
	slices.SortStableFunc(a.Settings, func(x, y Advised) int {
		if (x.Refused == "") != (y.Refused == "") {
			return cmp.Compare(x.Refused, y.Refused)
		}
		return cmp.Compare(y.Mean, x.Mean)
	})
	best := a.Settings[0]
	if best.Refused != "" {
		return nil, protocol.Fail(protocol.ClassInput, "no setting fits: %s", best.Refused)
	}
	if err := ad.compare(ctx, a); err != nil {
		return nil, err
	}
	if err := ad.describe(a, best); err != nil {
		return nil, err
	}
	err := ad.breakEven(ctx, a, best)
	a.Seconds = time.Since(began).Seconds()
	return a, err
}

func (ad *Advisor) check() error {
	rows := 0
	for _, n := range ad.Records {
		if n < 1 {
			return protocol.Fail(protocol.ClassInput, "records: %d isn't a number of records", n)
		}
		rows += n
	}
	switch n := len(ad.Records); {
	case n < 2 || n > mostAdvised:
		return protocol.Fail(protocol.ClassInput, "records: %d parties aren't 2..%d; give the number of each "+
			"party's, such as 142,142,150", n, mostAdvised)
	case rows > mostRows:
		return protocol.Fail(protocol.ClassInput,
			"records: %d in all; beyond %d the advice would take too long, and "+
				"is the same as for %d", rows, mostRows, mostRows)
	case ad.Accuracy != 0 && !(ad.Accuracy > 0.67 && ad.Accuracy < 0.995):
		return protocol.Fail(protocol.ClassInput, "accuracy: %v isn't between 0.67 and 0.995", ad.Accuracy)
	case ad.Accuracy != 0 && !ad.Schema.Classification():
		return protocol.Fail(protocol.ClassInput, "accuracy: the target %q is a number", ad.Schema.Target.Name)
	}
	d := Demo{Parties: len(ad.Records), Computes: ad.Computes, Colluders: ad.Colluders, Dropouts: ad.Dropouts,
		Epsilon: ad.Epsilon, Delta: ad.Delta, Model: bayes.Logistic}
	return d.Validate()
}

// settings are the candidates.
func (ad *Advisor) settings() []Advised {
	total := int64(0)
	for _, n := range ad.Records {
		total += int64(n)
	}
	base := terms.PlanConfig{Name: "advised", Lifetime: config.Duration{Duration: 720 * time.Hour},
		Suite:      "hybrid",
		Aggregator: "cards/aggregator.card", Dropouts: ad.Dropouts,
		Deadline: config.Duration{Duration: 10 * time.Minute},
		Privacy:  terms.PrivacyConfig{Epsilon: ad.Epsilon, Delta: ad.Delta}}
	if ad.Colluders > 0 {
		base.Colluders = &ad.Colluders
	}
	for i := range ad.Records {
		name := run.MemberName(protocol.RoleParty, i, len(ad.Records))
		base.Parties = append(base.Parties, "cards/"+name+".card")
	}
	for i := range ad.Computes {
		base.Computes = append(base.Computes, "cards/"+run.MemberName(protocol.RoleCompute, i, ad.Computes)+".card")
	}
	var all []Advised
	learning := func(name string, l terms.LearningConfig) {
		c := base
		l.SchemaFile, l.Records, l.Weights = "schema.toml", total, terms.Shares(ad.Records)
		c.Learning = &l
		all = append(all, Advised{Name: name, config: c})
	}
	statistics := func(name string, rounds, moments int) {
		c := base
		c.Rounds = rounds
		c.Statistics = &terms.StatisticsConfig{SchemaFile: "schema.toml", Records: total,
			MomentRounds: cmp.Or(moments, -1)}
		all = append(all, Advised{Name: name, config: c})
	}
	if !ad.Schema.Classification() {
		statistics("statistics, 1 round", 1, 0)
		statistics("statistics, 10 rounds", 10, 0)
		statistics("statistics, moments first", 10, 1)
		learning("virtual clients", terms.LearningConfig{Model: "linear", Strategy: "virtual"})
		return all
	}
	learning("virtual clients", terms.LearningConfig{})
	learning("virtual clients, clip 0.05", terms.LearningConfig{Clip: 0.05})
	learning("virtual clients, clip 0.4", terms.LearningConfig{Clip: 0.4})
	g := base
	g.Global = &terms.GlobalConfig{SchemaFile: "schema.toml", Records: total, Optimiser: string(global.Natural)}
	all = append(all, Advised{Name: "global, natural gradients", config: g})
	learning("optimisation, local noise", terms.LearningConfig{Strategy: "optimisation"})
	return all
}

// plan makes the plan of a setting with other numbers of records and another budget.
func (ad *Advisor) plan(c terms.PlanConfig, records []int, epsilon float64) (app.Spec, *protocol.Plan,
	error) {
	roster, err := run.NewRoster(nil, len(records), ad.Computes)
	if err != nil {
		return nil, nil, err
	}
	c.Privacy.Epsilon = epsilon
	total := int64(0)
	for _, n := range records {
		total += int64(n)
	}
	if c.Learning != nil {
		l := *c.Learning
		l.Records = total
		c.Learning = &l
	}
	if c.Global != nil {
		g := *c.Global
		g.Records = total
		c.Global = &g
	}
	if c.Statistics != nil {
		s := *c.Statistics
		s.Records = total
		c.Statistics = &s
	}
	p, err := c.Plan(ad.Schema, roster.Members, ad.now)
	if err != nil {
		return nil, nil, err
	}
	a, err := app.Of(p)
	return a, p, err
}

// learn runs a plan in the world k with the sum in the clear: the parties add the noise that they would.
func (ad *Advisor) learn(ctx context.Context, a app.Spec, p *protocol.Plan, d *Data, k int) (Scores, error) {
	joint := p.Noise == protocol.NoiseParty
	n := added{adds: func(int) bool { return joint }, random: ad.stream(k)}
	if joint {
		var err error
		if n.full, err = noise.NewGaussian(p.Variance); err != nil {
			return Scores{}, err
		}
	}
	q, err := learnt(ctx, a, p, d.Parts, len(d.Parts), n)
	if err != nil {
		return Scores{}, err
	}
	return d.evaluate(q, !ad.Schema.Classification())
}

// stream is the noise of the world k, so that the same question has the same answer. It hides nothing: the
// records are twins, which are drawn from the same seed.
func (ad *Advisor) stream(k int) io.Reader {
	return bed.Stream(fmt.Sprintf("advice %d world %d", ad.Seed, k))
}

func (ad *Advisor) tell(what string) {
	ad.done++
	if ad.Progress != nil {
		ad.Progress(min(ad.done, ad.total), ad.total, what)
	}
}
