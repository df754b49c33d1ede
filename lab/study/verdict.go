package study

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Verdict compares a figure of ours with the published one.
type Verdict string

// The verdicts.
const (
	Reproduced      Verdict = "reproduced"
	Better          Verdict = "better"
	Worse           Verdict = "worse"
	Uninformative   Verdict = "uninformative"
	NotComparable   Verdict = "not comparable"
	NotReproducible Verdict = "not reproducible"
	Unpublished     Verdict = "no published figure"
)

// Mean is the row's mean over seeds with its standard error and verdict.
func (r Row) Mean() Row {
	r.Statistic = "mean"
	r.Ours, r.SE = MeanSE(r.Values)
	return r.judged()
}

// Median is the row's median over seeds. Its standard error is the large-sample one
// of a median of normal values, 1.2533 times the mean's with the standard deviation
// taken from the interquartile range, which outliers do not move.
func (r Row) Median() Row {
	r.Statistic = "median"
	v := slices.Sorted(slices.Values(r.Values))
	r.Ours = quantile(v, 0.5)
	if n := len(v); n > 1 {
		sd := (quantile(v, 0.75) - quantile(v, 0.25)) / 1.349
		r.SE = math.Sqrt(math.Pi/2) * sd / math.Sqrt(float64(n))
	}
	return r.judged()
}

// judged fills in the verdict, unless the study has set one.
func (r Row) judged() Row {
	switch {
	case r.Verdict == NotReproducible:
	case r.Paper == nil:
		r.Verdict = Unpublished
	default:
		r.Verdict = r.judge()
	}
	return r
}

// informative is the uncertainty, as a fraction of the published figure, beyond which
// agreement with it means nothing. comparable is the ratio from which on the two are not the
// same quantity.
const (
	informative = 0.1
	comparable  = 10
)

// judge compares the row with the published figure, errors relative to those without privacy on a
// log scale: they have heavy tails.
func (r Row) judge() Verdict {
	paper, ours, bound := r.Paper.Value, r.Ours, informative*math.Abs(r.Paper.Value)
	precision, se := r.Paper.Precision, r.SE
	ratio := ours / paper
	if r.Measure == RelativeMAE {
		precision, se, bound = precision/paper, se/ours, informative
		paper, ours = math.Log(paper), math.Log(ours)
	}
	diff, tolerance := ours-paper, precision+r.interval(se)
	switch {
	case precision > bound:
		return Uninformative
	case ratio >= comparable || ratio <= 1./comparable:
		return NotComparable
	case math.Abs(diff) <= tolerance && tolerance > bound:
		return Uninformative
	case math.Abs(diff) <= tolerance:
		return Reproduced
	case (diff > 0) == r.Measure.more():
		return Better
	}
	return Worse
}

// interval is half the width of the 95 % interval with the standard error se; 0 for one value.
func (r Row) interval(se float64) float64 {
	n := len(r.Values)
	if n < 2 {
		return 0
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * se
}

// reaches tells whether the row is at its bar or beyond; true without one.
func (r Row) reaches() bool {
	if r.Bar == 0 {
		return true
	}
	if r.Measure.more() {
		return r.Ours >= r.Bar
	}
	return r.Ours <= r.Bar
}

// MeanSE is the mean of values and its standard error, 0 for fewer than two.
func MeanSE(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	if len(v) < 2 {
		return mean, 0
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / float64(len(v)-1) / float64(len(v)))
}

// quantile interpolates between order statistics.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Check refuses a result that tables and figures cannot be made of, or whose rows do not
// follow from their values.
func (r *Result) Check() error {
	if r.SchemaVersion != 1 || r.Name == "" || r.Title == "" || r.Source == "" || len(r.Rows) == 0 ||
		r.Seeds < 1 {
		return fmt.Errorf("study: the result %q is incomplete", r.Name)
	}
	for _, row := range r.Rows {
		if len(row.Values) == 0 {
			return fmt.Errorf("study: %s: %s, %s, %s has no values", r.Name, row.Case, row.Method,
				row.Measure)
		}
		again := row
		if again.Verdict != NotReproducible {
			again.Verdict = ""
		}
		if row.Statistic == "median" {
			again = again.Median()
		} else {
			again = again.Mean()
		}
		if math.Abs(again.Ours-row.Ours) > 1e-12*(1+math.Abs(row.Ours)) || again.Verdict != row.Verdict ||
			row.Verdict == NotReproducible && row.Why == "" {
			return fmt.Errorf("study: %s: %s, %s, %s does not follow from its values", r.Name, row.Case,
				row.Method, row.Measure)
		}
	}
	return r.checkCalibration()
}
