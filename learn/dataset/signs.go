package dataset

import (
	"fmt"
	"strings"
)

// signs are those before or after a number that no decimal number has.
const signs = "<>\u2264\u2265=~%\u20ac$\u00a3\u00b0"

// signedNumbers rejects a column in which nine of ten values are numbers, some of them with a sign such as %
// or >. Few different values may be names of classes.
func (rec *Records) signedNumbers(i int) error {
	values, numbers, line := 0, 0, 0
	sign := ""
	seen := map[string]bool{}
	for row, cells := range rec.Cells {
		cell := cells[i]
		if noValue(cell) {
			continue
		}
		values++
		bare := strings.Trim(cell, signs+" \u00a0")
		if bare == "" || !figure(bare) {
			continue
		}
		numbers++
		seen[cell] = true
		if at := strings.IndexAny(cell, signs); at >= 0 && line == 0 {
			line = rec.Lines[row]
			sign = string([]rune(cell[at:])[:1])
		}
	}
	if line == 0 || 10*numbers < 9*values || len(seen) < leastSigned {
		return nil
	}
	return fmt.Errorf("almost numeric, but for numbers with a sign, as %s in line %d; write plain numbers into "+
		"the files: a percentage or an amount without its sign, and a bound such as <5 as an agreed number",
		sign, line)
}

// leastSigned is the number of different values from which a column of numbers with signs isn't one of
// classes.
const leastSigned = 12

// A column of more levels, or of fewer rows for each of several, is warned of.
const (
	mostFewLevels = 30
	rowsOfLevel   = 20
	severalLevels = 5
)

// ManyLevels warns of each column with too many categories for these rows to tell much of them.
func (s *Schema) ManyLevels(rows int) (warnings []string) {
	for _, c := range s.Columns {
		n := len(c.Categories)
		if n <= severalLevels || n <= mostFewLevels && rows >= rowsOfLevel*n {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("column %s: %d categories become as many features, for %d rows: "+
			"each of them is hardly known, and noise grows with their number; merge categories in the files, or "+
			"leave the column out of the schema", c.Name, n, rows))
	}
	return warnings
}
