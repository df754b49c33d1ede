package result

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/dataset"
	"choir/learn/mcmc"
	"choir/protocol"
	"choir/session/terms"
)

// ErrNoCoefficients reports a model whose weights are not coefficients of columns.
// ErrIsSum and ErrIsProgram are the kinds of it that predict nothing.
var (
	ErrNoCoefficients = errors.New("the model has no coefficients of columns")
	ErrIsSum          = fmt.Errorf("%w: it is a sum", ErrNoCoefficients)
	ErrIsProgram      = fmt.Errorf("%w: a program of the parties computes it", ErrNoCoefficients)
)

// Coefficients are the weights of a linear predictor on the original scale of the
// columns, in the order of the schema, the intercept last.
type Coefficients struct {
	SchemaVersion int         `json:"schema_version"`
	Plan          string      `json:"plan"`
	Model         bayes.Model `json:"model"`
	Target        string      `json:"target"`
	Positive      string      `json:"positive,omitempty"` // the target's category that has probability
	Level         float64     `json:"level"`              // of the intervals, in (0, 1)
	Warnings      []string    `json:"warnings"`           // the model's
	// PrivacyNoiseIncluded reports whether the intervals include the noise on the sums;
	// NoiseNote is the same for people.
	PrivacyNoiseIncluded bool   `json:"privacy_noise_included"`
	NoiseNote            string `json:"noise_note"`
	// ObservationNote tells what a linear model's noise of an observation is, and where it is from.
	ObservationNote string `json:"observation_note,omitempty"`
	// LevelsNote tells what to compare the levels of a category with; empty without categories.
	LevelsNote string `json:"levels_note,omitempty"`
	// PriorCompared reports whether the plan was there, which has the prior.
	PriorCompared bool          `json:"prior_compared"`
	Coefficients  []Coefficient `json:"coefficients"`
	// Differences are those of a category's levels from its first one, for which no row without a level is
	// needed.
	Differences []Coefficient `json:"differences,omitempty"`
}

// Coefficient is the change of the target, or of its log-odds, for one unit of a column;
// for a category, against a row with none of the column's categories.
type Coefficient struct {
	Name  string  `json:"name"` // the column, column=category or intercept
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// The odds ratio is the exponential of mean, lower and upper. A linear model and the
	// intercept have none; one that overflows is nil.
	OddsRatio      *float64 `json:"odds_ratio,omitempty"`
	OddsRatioLower *float64 `json:"odds_ratio_lower,omitempty"`
	OddsRatioUpper *float64 `json:"odds_ratio_upper,omitempty"`
	// PriorOnly reports that the interval is hardly narrower than the prior's: the sums tell of the weight
	// about what the prior does, or less.
	PriorOnly bool `json:"prior_only"`
}

// errLevel is the error of a probability that is none.
func errLevel(level float64) error {
	if level > 1 && level < 100 {
		return protocol.Fail(protocol.ClassInput, "level: %v is not in (0, 1); that of %v %% is %v", level, level,
			level/100)
	}
	return protocol.Fail(protocol.ClassInput, "level: %v is not in (0, 1)", level)
}

// Coefficients returns the coefficients with central intervals of the level. p is the
// session's plan; without it, nil, nothing is compared with the prior. Errors:
// ErrNoCoefficients, protocol.ErrMismatch for the plan of another model.
func (f *ModelFile) Coefficients(p *protocol.Plan, level float64) (*Coefficients, error) {
	if !(level > 0 && level < 1) {
		return nil, errLevel(level)
	}
	if err := f.linear(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	if p != nil && p.ID().String() != f.Plan {
		return nil, protocol.Fail(protocol.ClassIntegrity, "model: %w: it is of plan %s, the plan is %s",
			protocol.ErrMismatch, f.Plan, p.ID())
	}
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	posterior, err := f.posterior()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	if n := len(posterior.Mean()); n != schema.Dim() {
		return nil, protocol.Fail(protocol.ClassInput, "model: %d weights of %d columns", n, schema.Dim())
	}
	c := f.described(schema)
	c.Level, c.PriorCompared = level, p != nil
	if f.Centres != nil {
		schema = centre.Schema(schema, f.frame())
	}
	scale, names, moments := scalingOf(schema), coefficientNames(schema), momentsOf(posterior)
	c.Coefficients = c.filled(names, scale.original(moments))
	last := &c.Coefficients[len(names)-1]
	last.OddsRatio, last.OddsRatioLower, last.OddsRatioUpper = nil, nil, nil
	c.Differences = c.filled(differenceNames(schema, names), scale.differences(schema, moments))
	if p == nil {
		return c, nil
	}
	prior, err := f.prior(p)
	if err != nil {
		return nil, err
	}
	comparePrior(c.Coefficients, scale.original(prior))
	comparePrior(c.Differences, scale.differences(schema, prior))
	return c, nil
}

// described are coefficients without numbers.
func (f *ModelFile) described(schema *dataset.Schema) *Coefficients {
	c := &Coefficients{SchemaVersion: 1, Plan: f.Plan, Model: f.Predictive.Model, Target: schema.Target.Name,
		Warnings: append([]string{}, f.Warnings...)} // a list in JSON, never null
	if schema.Classification() {
		c.Positive = schema.Target.Categories[1]
	}
	c.PrivacyNoiseIncluded = f.NoiseIncluded
	c.NoiseNote = f.Noise
	if c.NoiseNote == "" {
		c.NoiseNote = "it is not recorded whether they include the privacy noise"
	}
	switch d := f.Draws; {
	case d == nil || d.Method == mcmc.Trace || d.mixed() == "":
	case len(d.Effective) == 0:
		c.NoiseNote += "; don't use them, nor the means: the draws are too few to tell whether the chains mixed"
	default:
		c.NoiseNote += "; don't use them, nor the means: the chains did not mix"
	}
	c.ObservationNote = f.Predictive.note(schema.Target)
	c.LevelsNote = levelsNote(schema)
	return c
}

// linear returns an error unless the weights belong to columns.
func (f *ModelFile) linear() error {
	switch {
	case f.Predictive == nil:
		return ErrIsSum
	case f.Predictive.Model == bayes.External:
		return ErrIsProgram
	case f.Predictive.Model != bayes.Logistic && f.Predictive.Model != bayes.Linear:
		return fmt.Errorf("%w: it is a %q model", ErrNoCoefficients, f.Predictive.Model)
	}
	return nil
}

// coefficientNames names the coefficients. A column that is called intercept keeps its
// name, and the intercept has parentheses then.
func coefficientNames(s *dataset.Schema) []string {
	names := s.EncodedColumns()
	last := len(names) - 1
	names[last] = "intercept"
	if slices.Contains(names[:last], "intercept") {
		names[last] = "(intercept)"
	}
	return names
}

// filled are coefficients of these names, with their intervals and odds ratios. A mean of -0 is 0.
func (c *Coefficients) filled(names []string, m marginals) (all []Coefficient) {
	z := math.Sqrt2 * math.Erfinv(c.Level)
	for j, name := range names {
		k := Coefficient{Name: name, Mean: m.mean[j] + 0, SD: m.sd[j], Lower: m.mean[j] - z*m.sd[j],
			Upper: m.mean[j] + z*m.sd[j]}
		if c.Model == bayes.Logistic {
			k.OddsRatio = exponential(k.Mean)
			k.OddsRatioLower = exponential(k.Lower)
			k.OddsRatioUpper = exponential(k.Upper)
		}
		all = append(all, k)
	}
	return all
}

// exponential is e^v, nil if it overflows.
func exponential(v float64) *float64 {
	e := math.Exp(v)
	if math.IsInf(e, 0) {
		return nil
	}
	return &e
}

// CSV returns the coefficients and differences as a table with a line for each.
func (c *Coefficients) CSV() (header []string, rows [][]any) {
	header = []string{"name", "mean", "sd", "lower", "upper"}
	if c.Model == bayes.Logistic {
		header = append(header, "odds_ratio", "odds_ratio_lower", "odds_ratio_upper")
	}
	header = append(header, "prior_only", "level", "privacy_noise_included", "warnings")
	warnings := strings.Join(c.Warnings, "; ")
	for _, k := range c.Rows() {
		row := []any{k.Name, k.Mean, k.SD, k.Lower, k.Upper}
		if c.Model == bayes.Logistic {
			row = append(row, cell(k.OddsRatio), cell(k.OddsRatioLower), cell(k.OddsRatioUpper))
		}
		rows = append(rows, append(row, k.PriorOnly, c.Level, c.PrivacyNoiseIncluded, warnings))
	}
	return header, rows
}

// cell is a number, or an empty cell for nil.
func cell(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// FolderCoefficients returns the coefficients of the model in a session's folder, which
// has model.json or model.npz, and the plan if there is one.
func FolderCoefficients(dir string, level float64) (*Coefficients, error) {
	f, err := folderModel(dir)
	if err != nil {
		return nil, err
	}
	signed, err := FolderPlan(dir)
	if err != nil {
		return nil, err
	}
	if signed == nil {
		return f.Coefficients(nil, level)
	}
	return f.Coefficients(signed.Plan, level)
}

// Logistic reports whether the coefficients are changes of log-odds.
func (c *Coefficients) Logistic() bool { return c.Model == bayes.Logistic }

// ErrNoModel reports a folder without a model file.
var ErrNoModel = errors.New("the folder has no model.json and no model.npz")

func folderModel(dir string) (*ModelFile, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if !info.IsDir() {
		return nil, protocol.Fail(protocol.ClassInput, "%s: not a folder", dir)
	}
	for _, name := range []string{"model.json", "model.npz"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			return ReadModel(path)
		}
	}
	return nil, protocol.Fail(protocol.ClassInput, "%s: %w", dir, ErrNoModel)
}

// FolderPlan reads the plan in a session's folder, or in the folder's transcript; nil if
// there is none.
func FolderPlan(dir string) (*protocol.SignedPlan, error) {
	for _, path := range []string{filepath.Join(dir, "transcript", PlanFile), filepath.Join(dir, PlanFile)} {
		if _, err := os.Stat(path); err == nil {
			return terms.ReadPlan(path)
		}
	}
	return nil, nil
}
