package report

import (
	"fmt"
	"math"
	"slices"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/session/result"
)

// coefficient is a weight of a linear predictor on the original scale of the columns.
type coefficient struct {
	name     string
	mean, sd float64
}

// quantile is that of a 95 % interval of a normal distribution.
const quantile = 1.959963984540054

// maxCoefficients bounds the table.
const maxCoefficients = 300

// coefficients converts a posterior over weights of encoded columns. A column is encoded as
// (v - center) / scale, so that a unit of it moves the predictor by weight / scale, and all
// centres move the intercept. A linear model's target is scaled as well.
func coefficients(f *result.ModelFile) ([]coefficient, error) {
	if f.Predictive == nil || f.Predictive.Model != pvi.Logistic && f.Predictive.Model != pvi.Linear {
		return nil, nil
	}
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil {
		return nil, err
	}
	posterior, err := f.Posterior()
	if err != nil {
		return nil, err
	}
	names, mean := schema.EncodedColumns(), posterior.Mean()
	if len(mean) != len(names) {
		return nil, fmt.Errorf("%d weights of %d columns", len(mean), len(names))
	}
	unit, shift := 1.0, 0.0
	if t := schema.Target.Numeric; t != nil {
		unit, shift = t.Scale, t.Center
	}
	slopes, centers := ranges(schema)
	out := make([]coefficient, len(names))
	last := len(names) - 1
	direction := make([]float64, len(names)) // of the intercept, in the weights
	direction[last] = unit
	for j := range last {
		factor := unit * slopes[j]
		out[j] = coefficient{names[j], factor * mean[j], math.Abs(factor) * posterior.SD()[j]}
		direction[j] = -factor * centers[j]
	}
	out[last] = coefficient{"intercept", shift, sdOf(posterior, f.Predictive.Family == gauss.Full, direction)}
	for j, d := range direction {
		out[last].mean += d * mean[j]
	}
	return out, nil
}

// ranges are 1 / scale and the centre of every encoded column but the last, the bias.
func ranges(s *dataset.Schema) (slopes, centers []float64) {
	for _, c := range s.Columns {
		if c.Numeric != nil {
			slopes, centers = append(slopes, 1/c.Numeric.Scale), append(centers, c.Numeric.Center)
			continue
		}
		for range c.Categories {
			slopes, centers = append(slopes, 1), append(centers, 0)
		}
	}
	return slopes, centers
}

// sdOf is the standard deviation of a linear combination of the weights.
func sdOf(p *pvi.Posterior, full bool, direction []float64) float64 {
	variance := 0.0
	for i, a := range direction {
		if !full {
			variance += a * a * p.SD()[i] * p.SD()[i]
			continue
		}
		for j, b := range direction {
			variance += a * b * p.Covariance().At(i, j)
		}
	}
	return math.Sqrt(variance)
}

// coefficientTable is the section of a model's coefficients, if it has any.
func (p *Page) coefficientTable(f *result.ModelFile, noised bool) error {
	all, err := coefficients(f)
	if err != nil || len(all) == 0 {
		return err
	}
	s := Section{Heading: "Coefficients", Table: &Table{Numeric: []bool{false, true, true, true},
		Head: []string{"column", "mean", "95 % interval from", "to"}}}
	s.Text = []string{"Change of the target for one unit of a column, on the original scale of the columns."}
	if f.Predictive.Model == pvi.Logistic {
		s.Text = []string{"Change of the log-odds for one unit of a column, on the original scale of the " +
			"columns; " +
			"for a category, against a row with none of the column's categories."}
	}
	if noised {
		s.Notes = append(s.Notes, "The intervals are the posterior's; privacy noise not included. "+
			"They are too narrow where the noise is large.")
	}
	if len(all) > maxCoefficients {
		s.Notes = append(s.Notes, fmt.Sprintf("The %d coefficients of %d that are largest in units of "+
			"their standard "+
			"deviation; model.csv has all.", maxCoefficients, len(all)))
		slices.SortStableFunc(all, func(a, b coefficient) int {
			return int(math.Copysign(1, math.Abs(b.mean/b.sd)-math.Abs(a.mean/a.sd)))
		})
		all = all[:maxCoefficients]
	}
	for _, c := range all {
		lo, hi := c.mean-quantile*c.sd, c.mean+quantile*c.sd
		row := Row{Cells: []string{c.name, number(c.mean, 3), number(lo, 3), number(hi, 3)},
			Muted: lo < 0 && hi > 0}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	p.add(s)
	return nil
}
