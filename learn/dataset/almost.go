package dataset

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// reader reads cells as number does, and takes a comma that may separate thousands for a decimal
// one where another number of the file can have no other.
func (rec *Records) reader() func(cell string) (float64, error) {
	shown := sync.OnceValue(rec.showsCommas)
	return func(cell string) (float64, error) {
		v, err := rec.number(cell)
		if errors.Is(err, errThousands) && shown() {
			return decimal(cell)
		}
		return v, err
	}
}

// showsCommas reports whether a number of the file has a comma that can only be a decimal one.
func (rec *Records) showsCommas() bool {
	return rec.DecimalCommas && slices.ContainsFunc(rec.Cells, func(cells []string) bool {
		return slices.ContainsFunc(cells, func(cell string) bool {
			_, err := rec.number(cell)
			return err == nil && commaNumber.MatchString(cell)
		})
	})
}

// almostNumbers rejects a column that is numeric except for texts such as NA, for numbers that
// are not finite, for commas of two meanings, for signs such as >, for a unit, or for a few texts: as
// categories, each of its numbers would become a column.
func (rec *Records) almostNumbers(i int) error {
	if err := rec.signedNumbers(i); err != nil {
		return err
	}
	c := rec.countKinds(i)
	switch {
	case c.units > 0 && 10*(c.units+c.numbers) >= 9*c.values && len(c.different) >= leastIdentifiers:
		return fmt.Errorf("almost numeric, but for a text after the number, as a unit, in line %d; write plain "+
			"numbers into the files", c.unitLine)
	case len(c.texts) > mostCodes || c.texts[textOfDigits]:
		return nil
	case len(c.texts) > 0 && 2*c.numbers >= c.values && len(c.different) >= leastIdentifiers:
		return fmt.Errorf("almost numeric, but for a text in line %d; leave the cell empty if the value is "+
			"missing, and write numbers otherwise", c.textLine)
	case len(c.texts) > 0 || c.numbers == 0 || c.line == 0:
		return nil
	}
	return fmt.Errorf("%w; this is line %d of a column of numbers", c.why, c.line)
}

// mostCodes is the number of different texts that a column of numbers may have for missing values. Those
// with digits, as codes of diagnoses, are no such texts.
const (
	mostCodes    = 3
	textOfDigits = "0"
)

// kinds counts what the cells of a column are.
type kinds struct {
	values, numbers, units int
	different              map[string]bool // numbers
	texts                  map[string]bool
	unitLine, textLine     int   // the first
	line                   int   // of the first cell that is meant as a number and is none
	why                    error // it is none
}

var unitNumber = regexp.MustCompile(`^([+-]?[0-9]+(?:[.,][0-9]+)?)\s*([^0-9.,\s+-].*)$`)

func (rec *Records) countKinds(i int) kinds {
	c := kinds{different: map[string]bool{}, texts: map[string]bool{}, why: errNotNumber}
	read := rec.reader()
	unit := ""
	for row, cells := range rec.Cells {
		cell, line := cells[i], rec.Lines[row]
		_, err := read(cell)
		doubtful := errors.Is(err, errThousands) || errors.Is(err, errDecimalComma)
		if !noValue(cell) {
			c.values++
		}
		if err == nil || doubtful {
			c.numbers++
			c.different[cell] = true
		}
		switch {
		case err == nil || noNumber(cell):
		case figure(cell) || noValue(cell):
			if c.line == 0 {
				c.line = line
				if doubtful {
					c.why = err
				}
			}
		default:
			if m := unitNumber.FindStringSubmatch(cell); m != nil && (unit == "" || unit == m[2]) {
				unit = m[2]
				c.units++
				c.different[m[1]] = true
				c.unitLine = first(c.unitLine, line)
			}
			c.textLine = first(c.textLine, line)
			if strings.ContainsFunc(cell, unicode.IsDigit) {
				cell = textOfDigits
			}
			c.texts[cell] = true
		}
	}
	return c
}

func first(line, later int) int {
	if line == 0 {
		return later
	}
	return line
}

// pointNumber has points that may separate thousands.
var pointNumber = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+$`)

// pointThousands rejects a column with points of two meanings: the file's decimals have commas, and three
// digits follow every point of the column.
func (rec *Records) pointThousands(i int) error {
	if line := rec.pointLine(i); line > 0 && rec.showsCommas() {
		return fmt.Errorf("a number in line %d has a point before three digits, as 1.500, and others of the file "+
			"have decimal commas: write 1500 if it separates thousands, else 1,5", line)
	}
	return nil
}

// pointLine is the line of a column's first point, if three digits follow all of its points, else 0.
func (rec *Records) pointLine(i int) int {
	line := 0
	for row, cells := range rec.Cells {
		switch cell := cells[i]; {
		case !strings.Contains(cell, ".") || noValue(cell):
		case !pointNumber.MatchString(cell):
			return 0
		default:
			line = first(line, rec.Lines[row])
		}
	}
	return line
}
