// Package centre measures where columns lie within their public ranges and how wide they
// are, so that learning can start from columns that are centred and of a known size. A column
// that is encoded by its range alone has its mean anywhere in it: such columns pull
// together with the bias, and clipped updates lose the intercept. Its standard deviation
// is anywhere up to half of the range: longer records than the plan expects are clipped, and weights of
// shorter ones are lost in the noise.
//
// The first rounds of a plan sum the records' positions, their squares and a 1 for each record,
// in vectors with the clip of learning. Their sensitivity and noise are those of every other
// round, so that they compose like any of them. They look in stages: each at the part of the range that
// the sums before it leave, so that a column may be narrow in its range, as
// [BDKU20] narrow a ball that has all records. The frame is a function of these sums.
package centre

import (
	"math"

	"choir/learn/dataset"
)

const (
	// unit is the standard deviation that a column is taken to have where nothing is measured, in halves of
	// its range.
	unit = 0.3
	// share is the part of a plan's rounds that measure, and atLeast their least number.
	share, atLeast = 0.1, 3
	// standardised is from where on a public range is wide enough to mean that the column's
	// centre and scale are its mean and standard deviation.
	standardised = 2
)

// column is a column that is measured. Its position is (x - middle) / half, in [-1, 1].
type column struct {
	name         string
	at           int // in an encoded record
	middle, half float64
	code         bool // its range is from 0 to 1: it may well have two values, of which one is rare
}

// Columns are the columns of a schema that are encoded by their range.
type Columns struct {
	features int
	columns  []column
}

// Off reports whether a number's encoding leaves its mean away from 0: its range is all that is public, or
// is less than two scales wide on both sides.
func Off(c dataset.Column) bool {
	return c.Numeric != nil && (Reach(c) < standardised || c.RangeAlone())
}

// Reach is the largest magnitude of an encoded number.
func Reach(c dataset.Column) float64 {
	r := c.Numeric
	return max(math.Abs(r.Lo-r.Center), math.Abs(r.Hi-r.Center)) / r.Scale
}

// Of returns the columns of a schema that are worth centring.
func Of(s *dataset.Schema) Columns {
	c := Columns{features: s.Dim()}
	at := 0
	for _, col := range s.Columns {
		if Off(col) {
			r := col.Numeric
			middle := (r.Lo + r.Hi) / 2
			c.columns = append(c.columns, column{name: col.Name, at: at, middle: (middle - r.Center) / r.Scale,
				half: (r.Hi - middle) / r.Scale, code: r.Lo == 0 && r.Hi == 1})
		}
		at += max(1, len(col.Categories))
	}
	return c
}

// Len is the number of columns.
func (c Columns) Len() int { return len(c.columns) }

// Dim is the length of what a round measures of a schema's records: two numbers for each encoded column.
func Dim(s *dataset.Schema) int { return 2 * s.Dim() }

// Dim is the length of what a round measures.
func (c Columns) Dim() int { return 2 * c.features }

// Rounds is the default number of measuring rounds that are added to this number of learning rounds: a tenth
// of it, at least three.
func Rounds(learning int) int { return max(atLeast, int(math.Round(share*float64(learning)))) }

// RoundsOf is the default number of measuring rounds in a plan of this number of rounds.
func RoundsOf(all int) int {
	return max(min(atLeast, all/5), int(math.Round(share/(1+share)*float64(all))))
}
