package terms

import (
	"encoding/json"
	"fmt"
	"math"

	"choir/learn/dataset"
	"choir/learn/response"
	"choir/privacy"
	"choir/privacy/shuffle"
	"choir/protocol"
	"choir/session/app"
)

// ShuffleConfig describes a plan of shuffled reports: every record reports columns by randomised response or
// with noise.
type ShuffleConfig struct {
	SchemaFile string         `toml:"schema_file"`
	Schema     map[string]any `toml:"schema"`
	Backend    string         `toml:"backend"`     // what shuffles: sum (default) or mix
	Randomiser string         `toml:"randomiser"`  // of a report: response (default) or laplace
	Estimate   string         `toml:"estimate"`    // histogram (default), mean or quantile
	Columns    []string       `toml:"columns"`     // what every record reports
	Levels     int            `toml:"levels"`      // bins or levels of a column of numbers
	Eps0       float64        `toml:"eps0"`        // of a report against all others; or
	Gamma      float64        `toml:"gamma"`       // the probability that it is random; or by privacy.epsilon
	Records    uint32         `toml:"records"`     // least number of every party's records; default 1
	MaxRecords int64          `toml:"max_records"` // default 2^20, or what a mix-net carries
}

// BackendMix has a mix-net shuffle reports, backendSum the secure sum of their one-hot vectors.
const (
	BackendMix = "mix"
	backendSum = "sum"
)

// RandomiserLaplace adds noise to numbers, randomiserResponse reports a random value instead.
const (
	RandomiserLaplace  = "laplace"
	randomiserResponse = "response"
)

func (c *ShuffleConfig) schema() (string, map[string]any) { return c.SchemaFile, c.Schema }

func (c *ShuffleConfig) spec(t Terms, schema *dataset.Schema) (app.Spec, int, error) {
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, 0, err
	}
	rounds := orElse(t.Rounds, 1)
	records, most := c.Bounds(t.parties())
	honest := int64(t.parties() - t.Dropouts - t.Colluders - 1)
	if err := c.check(t, honest); err != nil {
		return nil, 0, err
	}
	s := privacy.Shuffled{Reports: uint64(honest) * uint64(records)}
	cfg := response.Config{Estimate: orElse(response.Estimand(c.Estimate), response.Histogram), Records: records,
		MaxRecords: most, Single: c.Backend == BackendMix}
	releases := uint64(rounds + t.SpareAttempts)
	if cfg.Single {
		releases = uint64(rounds) // a round's attempts carry the same reports
	}
	levels := 2
	for _, name := range c.Columns {
		k := c.categories(schema, name, cfg.Estimate, s.Reports)
		cfg.Columns = append(cfg.Columns, response.Column{Name: name, Categories: k})
		levels = max(levels, k)
	}
	s.Categories = uint32(levels)
	if err := c.randomness(t, &cfg, s, releases*uint64(len(c.Columns))); err != nil {
		return nil, 0, err
	}
	if _, err := response.NewSurvey(cfg, schema); err != nil {
		return nil, 0, err
	}
	return &app.Shuffle{Version: 1, Survey: cfg, Schema: json.RawMessage(canonical)}, rounds, nil
}

func (c *ShuffleConfig) noisy() bool { return c.Randomiser == RandomiserLaplace }

// check names a key that is missing or contradicts another; honest is the number of honest parties.
func (c *ShuffleConfig) check(t Terms, honest int64) error {
	switch {
	case c.Randomiser != "" && c.Randomiser != randomiserResponse && !c.noisy():
		return fmt.Errorf("randomiser: %q isn't %s or %s", c.Randomiser, randomiserResponse,
			RandomiserLaplace)
	case c.noisy() && c.Gamma != 0:
		return fmt.Errorf("gamma: it is the probability of a random report, and randomiser = %q adds noise "+
			"to every one; give eps0", RandomiserLaplace)
	case c.noisy() && c.Estimate != string(response.Mean) && c.Estimate != string(response.Quantile):
		return fmt.Errorf("estimate: reports with noise estimate the mean or quantiles of numbers; name one, "+
			"or take randomiser = %q", randomiserResponse)
	case c.Backend != "" && c.Backend != backendSum && c.Backend != BackendMix:
		return fmt.Errorf("backend: %q isn't %s or %s", c.Backend, backendSum, BackendMix)
	case len(c.Columns) == 0:
		return fmt.Errorf("columns is missing: it names the columns that every record reports")
	case honest < 1:
		return fmt.Errorf("colluders, dropouts: N_min - T - 1 = %d leaves no honest reports (N = %d, "+
			"dropouts = %d, T = %d)", honest, t.parties(), t.Dropouts, t.Colluders)
	case c.Eps0 != 0 && c.Gamma != 0:
		return fmt.Errorf("eps0, gamma: one follows from the other; leave one out")
	case c.Eps0 == 0 && c.Gamma == 0 && t.Epsilon == 0:
		return fmt.Errorf("gamma is missing: give it, or eps0, or privacy.epsilon, from which it follows")
	case c.Eps0 < 0 || c.Eps0 > 20 || math.IsNaN(c.Eps0):
		return fmt.Errorf("eps0: %v isn't in (0, 20]", c.Eps0)
	case c.Gamma < 0 || c.Gamma >= 1 || math.IsNaN(c.Gamma):
		return fmt.Errorf("gamma: %v isn't in (0, 1)", c.Gamma)
	}
	return nil
}

// Bounds returns the least and the largest number of records of each party.
func (c *ShuffleConfig) Bounds(parties int) (least uint32, most int64) {
	least, most = orElse(c.Records, 1), 1<<20
	if c.Backend == BackendMix {
		most = protocol.MaxMixEntries / int64(max(1, parties*len(c.Columns)))
	}
	return least, orElse(c.MaxRecords, max(most, int64(least)))
}

// categories returns the number of values of a column's reports. Numbers have about the cube root of the
// honest reports, up to 32, with which the error of a mean is about least ([BBGN19]).
func (c *ShuffleConfig) categories(schema *dataset.Schema, name string, e response.Estimand,
	reports uint64) int {
	for _, column := range append([]dataset.Column{schema.Target}, schema.Columns...) {
		switch {
		case column.Name != name:
		case column.Numeric == nil:
			return len(column.Categories)
		case c.Levels != 0:
			return c.Levels
		case c.noisy() && e == response.Mean:
			return 64 // rounding to them is little next to the noise
		case e == response.Histogram && column.Numeric.Lo == 0 && column.Numeric.Hi == 1:
			return 2
		}
	}
	return orElse(c.Levels, min(32, max(2, int(math.Round(math.Cbrt(float64(reports)))))))
}

// randomness fills in how reports are random: as it is given, or no more than the plan's budget asks for.
func (c *ShuffleConfig) randomness(t Terms, cfg *response.Config, s privacy.Shuffled, count uint64) error {
	k := int(s.Categories)
	if c.noisy() {
		k = 2 // noise is looked for by the gamma of two values with its local guarantee
	}
	random := func(gamma float64) (err error) {
		if !c.noisy() {
			cfg.Gamma = min(privacy.GammaUnit-1, max(1, uint64(math.Ceil(gamma*privacy.GammaUnit))))
			return nil
		}
		n, err := response.NewNoise(int(s.Categories), math.Log((2-gamma)/gamma))
		cfg.Noise = &n
		return err
	}
	switch {
	case c.Gamma != 0:
		return random(c.Gamma)
	case c.Eps0 != 0:
		return random(shuffle.GammaOf(c.Eps0, k))
	case !(t.Epsilon > 0) || math.IsInf(t.Epsilon, 0):
		return fmt.Errorf("privacy.epsilon: %v isn't positive", t.Epsilon)
	case count > 1<<31:
		return fmt.Errorf("rounds, columns: %d reports of a record are more than an accountant computes", count)
	}
	spends := func(gamma float64) (float64, error) {
		if err := random(gamma); err != nil && cfg.Noise == nil { // a margin counts at the end
			return 0, err
		}
		if s.Gamma = cfg.Gamma; cfg.Noise != nil {
			s.Keep = cfg.Noise.Keep
		}
		b, err := privacy.Spent([]privacy.SampledRelease{{Shuffled: s, Count: int(count)}}, privacy.ReplaceOne,
			orElse(t.Delta, defaultDelta(s.Reports)), privacy.PlanPrecision())
		return b.Epsilon, err
	}
	gamma, err := leastGamma(t.Epsilon, shuffle.GammaOf(t.Epsilon/float64(count), k), spends)
	if err != nil {
		return err
	}
	return random(gamma)
}

// leastGamma returns the least gamma, to one part in a thousand, with which what is spent is within epsilon.
// It falls with gamma, roughly by a power, and is within it at good.
func leastGamma(epsilon, good float64, spends func(gamma float64) (float64, error)) (float64, error) {
	good = math.Min(1, good*(1+1e-9))
	above := func(gamma float64) (float64, error) { // ln of what is spent over epsilon
		e, err := spends(gamma)
		return math.Log(e / epsilon), err
	}
	a, err := above(good)
	if err != nil || a > 0 {
		return good, err
	}
	bad, b := good, a
	for b <= 0 {
		if bad < 1e-8 {
			return bad, nil
		}
		good, a = bad, b
		bad /= 8
		if b, err = above(bad); err != nil {
			return 0, err
		}
	}
	for range 60 {
		if good <= bad*(1+1e-3) {
			break
		}
		step := math.Min(0.95, math.Max(0.05, b/(b-a)))
		if math.IsInf(a, 0) || math.IsInf(b, 0) {
			step = 0.5
		}
		mid := bad * math.Pow(good/bad, step)
		m, err := above(mid)
		if err != nil {
			return 0, err
		}
		if m <= 0 { // the end that stays counts half, so that both move
			good, a, b = mid, m, b/2
		} else {
			bad, b, a = mid, m, a/2
		}
	}
	return good, nil
}

// defaultDelta is 10^-6, or a tenth of the reports' reciprocal as a power of ten if that is less.
func defaultDelta(reports uint64) float64 {
	return math.Min(1e-6, math.Pow(10, -math.Floor(math.Log10(float64(reports)))-1))
}

// account enters the claim of a plan of reports: the terms' epsilon, or what the attempts spend, rounded up
// to three digits.
func (t Terms) account(p *protocol.Plan) error {
	p.Relation = uint8(privacy.ReplaceOne)
	p.Accountant = protocol.AccountantShuffled
	p.Delta = orElse(t.Delta, defaultDelta(max(1, p.HiddenParts()*uint64(p.Reports.Records))))
	p.Epsilon = t.Epsilon
	if p.Epsilon != 0 {
		return nil
	}
	b, _, err := p.Spends(p.Releases())
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "privacy.delta: %w", err)
	}
	unit := math.Pow(10, math.Floor(math.Log10(b.Epsilon))-2)
	p.Epsilon = math.Ceil(b.Epsilon*(1+1e-9)/unit) * unit
	return nil
}

// ReportUse is what a plan's reports protect by themselves, and what they reveal of a column.
type ReportUse struct {
	Estimate   string  `json:"estimate"`
	Randomiser string  `json:"randomiser"`        // response or laplace
	Backend    string  `json:"backend"`           // sum or mix
	Records    uint32  `json:"records_per_party"` // at least
	Honest     uint64  `json:"honest_reports"`    // that hide one from the worst adversary that is tolerated
	Columns    uint32  `json:"columns"`
	Categories uint32  `json:"categories"` // of the column with the most
	Gamma      float64 `json:"gamma"`      // the probability of a random report; 0 with noise
	// Local is the epsilon, with delta 0, of a report against all others together; LocalAll that of all reports
	// of a record.
	Local    float64 `json:"local_epsilon"`
	LocalAll float64 `json:"local_epsilon_all"`
	// ShareSD is the deviation of the share of a rare value if all parties have just their least records, from
	// all rounds; of reports with noise that of a mean in units of the values' range.
	ShareSD float64 `json:"share_sd"`
}

// reportUse returns nil for a plan without reports.
func reportUse(p *protocol.Plan) *ReportUse {
	if p.Noise != protocol.NoiseShuffle {
		return nil
	}
	c, _ := p.Charge(p.Releases())
	r := p.Reports
	u := &ReportUse{Backend: backendSum, Randomiser: randomiserResponse, Records: r.Records,
		Honest: c.Shuffled.Reports, Columns: r.Columns, Categories: r.Categories,
		Gamma: float64(r.Gamma) / privacy.GammaUnit, Local: c.Shuffled.Local()}
	if p.Mixes() {
		u.Backend = BackendMix
	}
	u.LocalAll = u.Local * float64(c.Count) * (1 + 1e-12)
	f := u.Gamma / float64(r.Categories)
	reports := float64(p.Parties()) * float64(r.Records) * float64(p.Rounds)
	u.ShareSD = math.Sqrt(f*(1-f)/reports) / (1 - u.Gamma)
	if a, err := app.Of(p); err == nil {
		if s, ok := a.(*app.Shuffle); ok {
			u.Estimate = string(s.Survey.Estimate)
			if n := s.Survey.Noise; n != nil {
				u.Randomiser = RandomiserLaplace
				u.ShareSD = n.SD() / float64(r.Categories-1) / math.Sqrt(reports)
			}
		}
	}
	return u
}

// uselessShare is the deviation of a share from which on reports are nearly useless.
const uselessShare = 0.2

// reportOutlook warns of reports that are nearly useless.
func reportOutlook(p *protocol.Plan) string {
	u := reportUse(p)
	if u.ShareSD < uselessShare {
		return ""
	}
	if u.Randomiser == RandomiserLaplace {
		return fmt.Sprintf("the mean of a column will have a standard deviation of %.2g of its range: more "+
			"records of every party (records), more parties or a larger epsilon help", u.ShareSD)
	}
	return fmt.Sprintf("the share of a rare value will have a standard deviation of %.2g: more records of "+
		"every party (records), more parties, fewer categories or a larger epsilon help", u.ShareSD)
}
