package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"choir/learn/bayes"
	"choir/session/result"
)

// maxCoefficients bounds the table.
const maxCoefficients = 300

// coefficientTable adds the section of a model's coefficients.
func (p *Page) coefficientTable(c *result.Coefficients) {
	s := Section{Heading: "Coefficients", Table: &Table{Numeric: []bool{false, true, true, true},
		Head: []string{"column", "mean", "95 % interval from", "to"}}}
	s.Text = []string{fmt.Sprintf("Change of %s for one unit of a column, on the original scale of the columns.",
		c.Target)}
	if c.Model == bayes.Logistic {
		s.Text = []string{fmt.Sprintf("Change of the log-odds of %s=%s for one unit of a column, on the original "+
			"scale of the columns; for a category, against a row with none of the column's categories.", c.Target,
			c.Positive)}
	}
	s.Notes = append(s.Notes, "Intervals: "+c.NoiseNote+".")
	if c.ObservationNote != "" {
		s.Notes = append(s.Notes, "Noise of an observation: "+c.ObservationNote+".")
	}
	if c.LevelsNote != "" {
		s.Notes = append(s.Notes, "Levels: "+c.LevelsNote+".")
	}
	all := c.Rows()
	if len(all) > maxCoefficients {
		s.Notes = append(s.Notes, fmt.Sprintf("The %d coefficients of %d that are largest in units of "+
			"their standard deviation; choir model show DIR has all.", maxCoefficients, len(all)))
		slices.SortStableFunc(all, func(a, b result.Coefficient) int {
			return cmp.Compare(math.Abs(b.Mean/b.SD), math.Abs(a.Mean/a.SD))
		})
		all = all[:maxCoefficients]
	}
	prior := false
	for _, k := range all {
		name := k.Name
		if k.PriorOnly {
			name += " *"
			prior = true
		}
		s.Table.Rows = append(s.Table.Rows, Row{
			Cells: []string{name, number(k.Mean, 3), number(k.Lower, 3), number(k.Upper, 3)},
			Muted: k.Lower < 0 && k.Upper > 0})
	}
	if prior {
		s.Notes = append(s.Notes, "* about the prior's interval.")
	}
	p.add(s)
}
