package response

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"choir/learn/dataset"
)

// ErrConfig reports an impossible survey.
var ErrConfig = errors.New("response: bad configuration")

// Estimand is what reports are to estimate.
type Estimand string

const (
	Histogram Estimand = "histogram" // counts of categories, or of bins of a number
	Mean      Estimand = "mean"      // of a number, rounded to levels at random
	Quantile  Estimand = "quantile"  // of a number, from its bins
)

// Config is a survey: in every round each record reports each of some columns, by randomised response or, for
// a mean or quantiles, with noise.
type Config struct {
	Estimate   Estimand `json:"estimate"`
	Columns    []Column `json:"columns"`
	Gamma      uint64   `json:"gamma"`            // probability of a uniform report, in units of 2^-32
	Noise      *Noise   `json:"noise,omitempty"`  // in the place of Gamma, which is then 0
	Single     bool     `json:"single,omitempty"` // each report is sent by itself, and some may be missing
	Records    uint32   `json:"records"`          // least number of every party's records
	MaxRecords int64    `json:"max_records"`      // most of one party's
}

// Column is a column of the schema and the number of values that its reports have.
type Column struct {
	Name       string `json:"name"`
	Categories int    `json:"categories"`
}

// Limits of a survey.
const (
	maxQuestions = 64
	maxCells     = 1 << 20
	maxRecords   = 1 << 30
)

// Survey is a configuration over a schema.
type Survey struct {
	cfg       Config
	width     int // encoded columns
	questions []question
	dim       int
}

// question is a column's block of counts.
type question struct {
	Response
	name   string
	levels []string
	number *dataset.Range // nil: categories
	noise  *Noise         // nil: randomised response
	at     int            // first count
	from   int            // first encoded column; -1: the target
}

// NewSurvey lays out the counts of all columns. Errors name the column.
func NewSurvey(cfg Config, schema *dataset.Schema) (*Survey, error) {
	s := &Survey{cfg: cfg, width: schema.Dim()}
	switch {
	case cfg.Estimate != Histogram && cfg.Estimate != Mean && cfg.Estimate != Quantile:
		return nil, fmt.Errorf("%w: estimate is %q, want histogram, mean or quantile", ErrConfig, cfg.Estimate)
	case len(cfg.Columns) < 1 || len(cfg.Columns) > maxQuestions:
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", ErrConfig, len(cfg.Columns), maxQuestions)
	case cfg.Noise != nil && (cfg.Gamma != 0 || cfg.Estimate == Histogram):
		return nil, fmt.Errorf("%w: reports with noise have no gamma and estimate a mean or quantiles, not gamma "+
			"%d and a %s", ErrConfig, cfg.Gamma, cfg.Estimate)
	case cfg.Noise == nil && (cfg.Gamma < 1 || cfg.Gamma >= unit):
		return nil, fmt.Errorf("%w: gamma is %v, want it above 0 and below 1, where reports say nothing", ErrConfig,
			float64(cfg.Gamma)/unit)
	case cfg.Records < 1 || int64(cfg.Records) > cfg.MaxRecords:
		return nil, fmt.Errorf("%w: records is %d, want 1 to max_records, %d", ErrConfig, cfg.Records,
			cfg.MaxRecords)
	case cfg.MaxRecords > maxRecords:
		return nil, fmt.Errorf("%w: max_records is %d, want at most %d", ErrConfig, cfg.MaxRecords, maxRecords)
	case schema.Missing != dataset.Refuse || schema.Unseen != dataset.Refuse:
		return nil, fmt.Errorf("%w: missing and unseen of the schema must be refuse: every record reports, since "+
			"the number of reports is public; give missing values a category", ErrConfig)
	}
	for i, c := range cfg.Columns {
		if slices.Contains(cfg.Columns[:i], c) {
			return nil, fmt.Errorf("%w: column %q is named twice", ErrConfig, c.Name)
		}
		q, err := s.question(c, schema)
		if err != nil {
			return nil, err
		}
		q.at = s.dim
		s.dim += q.cells()
		s.questions = append(s.questions, q)
	}
	if s.dim > maxCells {
		return nil, fmt.Errorf("%w: %d values of all columns, at most %d", ErrConfig, s.dim, maxCells)
	}
	return s, nil
}

func (s *Survey) question(c Column, schema *dataset.Schema) (q question, err error) {
	source, from, err := find(schema, c.Name)
	if err != nil {
		return q, err
	}
	q.noise, q.categories = s.cfg.Noise, uint32(c.Categories)
	if q.noise != nil {
		err = q.noise.check(c.Categories)
	} else {
		q.Response, err = New(c.Categories, float64(s.cfg.Gamma)/unit)
	}
	if err != nil {
		return q, fmt.Errorf("%w: column %q: %w", ErrConfig, c.Name, err)
	}
	q.name, q.from, q.number, q.levels = c.Name, from, source.Numeric, source.Categories
	switch {
	case q.number == nil && s.cfg.Estimate != Histogram:
		return q, fmt.Errorf("%w: column %q has categories: it has a histogram, but no %s", ErrConfig, c.Name,
			s.cfg.Estimate)
	case q.number == nil && len(q.levels) != c.Categories:
		return q, fmt.Errorf("%w: column %q has %d categories in the schema, not %d", ErrConfig, c.Name,
			len(q.levels), c.Categories)
	case q.number != nil:
		q.levels = q.names(s.cfg.Estimate)
	}
	return q, nil
}

// find returns a source column, and where its encoding begins; -1 is the target.
func find(schema *dataset.Schema, name string) (dataset.Column, int, error) {
	if schema.Target.Name == name {
		return schema.Target, -1, nil
	}
	at := 0
	for _, c := range schema.Columns {
		if c.Name == name {
			return c, at, nil
		}
		at += max(1, len(c.Categories))
	}
	return dataset.Column{}, 0, fmt.Errorf("%w: column %q is not in the schema", ErrConfig, name)
}

// names are those of a number's levels or bins.
func (q question) names(e Estimand) (names []string) {
	k := int(q.categories)
	if e == Histogram && k == 2 && q.number.Lo == 0 && q.number.Hi == 1 {
		return []string{"0", "1"}
	}
	for j := range k {
		if e == Mean {
			names = append(names, fmt.Sprintf("%.4g", q.place(float64(j)/float64(k-1))))
		} else {
			names = append(names, fmt.Sprintf("%.4g to %.4g", q.bound(j), q.bound(j+1)))
		}
	}
	return names
}

// cells is the number of different reports.
func (q question) cells() int {
	if q.noise != nil {
		return q.noise.cells(int(q.categories))
	}
	return int(q.categories)
}

// report draws a report of a value.
func (q question) report(value int, random io.Reader) (int, error) {
	if q.noise != nil {
		return q.noise.Report(value, int(q.categories), random)
	}
	return q.Report(value, random)
}

// sum returns the number of reports that are counted.
func (q question) sum(counts []int64) (float64, error) {
	if q.noise != nil {
		return reportsIn(counts)
	}
	return q.check(counts)
}

// place returns the number at u in [0, 1] of the range.
func (q question) place(u float64) float64 { return q.number.Lo + (q.number.Hi-q.number.Lo)*u }

// bound is the lower end of a bin.
func (q question) bound(bin int) float64 { return q.place(float64(bin) / float64(q.categories)) }

// Dim is the number of counts.
func (s *Survey) Dim() int { return s.dim }

// Bounds are the L2 norm of a record's vector and of a party's, rounded up, and the most categories of a
// column.
func (s *Survey) Bounds() (record, party uint64, categories uint32) {
	record = uint64(math.Ceil(math.Sqrt(float64(len(s.questions)))))
	for _, q := range s.questions {
		categories = max(categories, q.categories)
	}
	return record, record * uint64(s.cfg.MaxRecords), categories
}

// Fits checks the number of a party's records. x has the encoded columns of all records, y the
// targets. The error tells by how many records the party is beyond the plan.
func (s *Survey) Fits(x, y []float64) error {
	switch n := int64(len(y)); {
	case len(x) != len(y)*s.width:
		return fmt.Errorf("response: %d values for %d records of %d columns", len(x), n, s.width)
	case n < int64(s.cfg.Records):
		return fmt.Errorf("response: %d records, and the plan's epsilon counts on %d of every party: "+
			"fewer reports hide others less; make a plan with fewer records", n, s.cfg.Records)
	case n > s.cfg.MaxRecords:
		return fmt.Errorf("response: %d records, and the plan allows a party %d", n, s.cfg.MaxRecords)
	}
	return nil
}

// Count draws a new report of every column of every record, and returns their counts.
func (s *Survey) Count(x, y []float64, random io.Reader) ([]int64, error) {
	reports, err := s.Reports(x, y, random)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, s.dim)
	s.Tally(counts, reports)
	return counts, nil
}

// Tally adds reports to counts. A number that is no report of this survey is left out: it is unknown who
// sent it.
func (s *Survey) Tally(counts, reports []int64) {
	for _, r := range reports {
		if r >= 0 && r < int64(len(counts)) {
			counts[r]++
		}
	}
}

// Reports draws a new report of every column of every record. A report is the number of the count that it
// adds 1 to.
func (s *Survey) Reports(x, y []float64, random io.Reader) ([]int64, error) {
	if err := s.Fits(x, y); err != nil {
		return nil, err
	}
	random = bufio.NewReaderSize(random, min(1<<12, 16*len(y)*len(s.questions)))
	reports := make([]int64, 0, len(y)*len(s.questions))
	for i := range y {
		for _, q := range s.questions {
			value, err := q.value(s.cfg.Estimate, x[i*s.width:(i+1)*s.width], y[i], random)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", q.name, err)
			}
			report, err := q.report(value, random)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", q.name, err)
			}
			reports = append(reports, int64(q.at+report))
		}
	}
	return reports, nil
}

// value is the value that a record would report without randomness.
func (q question) value(e Estimand, x []float64, y float64, random io.Reader) (int, error) {
	k := int(q.categories)
	switch {
	case q.number == nil && q.from < 0:
		return int(y), nil
	case q.number == nil:
		return slices.Index(x[q.from:q.from+k], 1), nil
	case q.from >= 0:
		y = x[q.from]
	}
	u := (y*q.number.Scale + q.number.Center - q.number.Lo) / (q.number.Hi - q.number.Lo)
	u = math.Min(1, math.Max(0, u))
	if e == Mean {
		return q.Level(u, random)
	}
	return min(int(u*float64(k)), k-1), nil
}
