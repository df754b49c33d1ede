package result

import (
	"math"
	"slices"

	"choir/learn/dataset"
	"choir/learn/gauss"
)

// differences returns the marginals of the differences of each category's other levels from its first, for
// weights with the moments m.
func (s scaling) differences(schema *dataset.Schema, m *gauss.Moments) (out marginals) {
	for _, levels := range schema.Levels() {
		first := levels[0]
		for j := first + 1; j < levels[1]; j++ {
			variance := m.Variance[j] + m.Variance[first]
			if m.Covariance != nil {
				variance -= 2 * m.Covariance.At(j, first)
			}
			out.mean = append(out.mean, s.unit*(m.Mean[j]-m.Mean[first]))
			out.sd = append(out.sd, math.Abs(s.unit)*math.Sqrt(max(0, variance)))
		}
	}
	return out
}

// differenceNames names the differences, by the coefficients' names.
func differenceNames(schema *dataset.Schema, names []string) (out []string) {
	for _, levels := range schema.Levels() {
		for j := levels[0] + 1; j < levels[1]; j++ {
			out = append(out, names[j]+" against "+names[levels[0]])
		}
	}
	return out
}

// Rows are the coefficients, the intercept last of them, followed by the differences of levels.
func (c *Coefficients) Rows() []Coefficient {
	return append(c.Coefficients[:len(c.Coefficients):len(c.Coefficients)], c.Differences...)
}

// levelsNote tells what to compare the levels of a schema's categories with.
func levelsNote(s *dataset.Schema) string {
	if !slices.ContainsFunc(s.Levels(), func(levels [2]int) bool { return levels[1]-levels[0] > 1 }) {
		return ""
	}
	return "rows hardly tell what moves all levels of a category from the intercept, so compare them with " +
		"each other, as the lines below the intercept do"
}
