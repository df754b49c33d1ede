// Package centre measures where columns lie within their public ranges, so that learning can
// start from columns that are centred. A column that is encoded by its range alone has its
// mean anywhere in [-1, 1]: such columns pull together with the bias, and clipped updates
// lose the intercept.
//
// The first rounds of a plan sum the records' positions and a 1 for each record, in vectors
// with the clip of learning. Their sensitivity and noise are those of every other round, so
// that they compose like any of them. The centres are a function of these sums.
package centre

import (
	"math"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/learn/dataset"
	"choir/learn/pvi"
)

const (
	// unit is the standard deviation that a column is taken to have, in halves of its range:
	// its scale after centring.
	unit = 0.3
	// typical is the root mean square of a column's position: longer records are clipped.
	typical = 0.6
	// share is how much of a plan's rounds measure.
	share = 0.1
	// standardised is from where on a public range is wide enough to mean that the column's
	// centre and scale are its mean and standard deviation.
	standardised = 2
)

// column is a column that is measured. Its position is (x - middle) / half, in [-1, 1].
type column struct {
	at           int // in an encoded record
	middle, half float64
}

// Columns are the columns of a schema that are encoded by their range.
type Columns struct {
	features int
	columns  []column
}

// Off reports whether a number's encoding leaves its mean away from 0: its public range is
// less than two scales wide on both sides.
func Off(c dataset.Column) bool { return c.Numeric != nil && Reach(c) < standardised }

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
			c.columns = append(c.columns, column{at, (middle - r.Center) / r.Scale, (r.Hi - middle) / r.Scale})
		}
		at += max(1, len(col.Categories))
	}
	return c
}

// Len is the number of columns.
func (c Columns) Len() int { return len(c.columns) }

// Rounds is the default number of rounds that measure in addition to so many of learning.
func Rounds(learning int) int { return max(2, int(math.Round(share*float64(learning)))) }

// RoundsOf is the default number of rounds that measure among so many in all.
func RoundsOf(all int) int {
	if all < 5 {
		return 0
	}
	return max(1, int(math.Round(share/(1+share)*float64(all))))
}

// length is the norm that a record's vector is clipped to before it is scaled to the clip.
func (c Columns) length() float64 {
	return math.Sqrt(1 + typical*typical*float64(len(c.columns)))
}

// Sum adds a party's records to sum: in at most so many groups, each with a mean of norm at
// most clip, and at most bound in units of the grid. A record is in one group. It returns the
// share of groups that were clipped.
func (c Columns) Sum(sum []int64, d pvi.Data, groups int, grid fixedpoint.Grid, clip float64,
	bound uint64) (clipped float64, err error) {
	terms := pvi.NewTerms(grid, clip, bound)
	groups = min(groups, d.Rows())
	v := make([]float64, c.features)
	for k := range groups {
		clear(v)
		n := float64((d.Rows() - k + groups - 1) / groups)
		by := clip / c.length()
		for i := k; i < d.Rows(); i += groups {
			row := d.X[i*c.features : (i+1)*c.features]
			for _, col := range c.columns {
				v[col.at] += (row[col.at] - col.middle) / col.half * by / n
			}
		}
		v[c.features-1] = by
		cut, err := terms.Add(sum, v)
		if err != nil {
			return 0, err
		}
		if cut {
			clipped += 1 / float64(groups)
		}
	}
	return clipped, nil
}

// Centres are the positions of the columns' means. state has the number of accepted rounds, and
// the sum of every encoded column with that of the bias last. variance is that of the noise on one sum,
// in units of the grid squared. A position is shrunk towards the mean of all columns by
// what the noise explains of their spread.
func (c Columns) Centres(state []int64, variance float64) []float64 {
	noise := math.Sqrt(variance * float64(state[0]))
	records := max(float64(state[c.features]), noise)
	out := make([]float64, len(c.columns))
	if records == 0 || len(out) == 0 {
		return out
	}
	pool := 0.0
	for j, col := range c.columns {
		out[j] = min(1, max(-1, float64(state[1+col.at])/records))
		pool += out[j] / float64(len(out))
	}
	spread := 0.0
	for _, m := range out {
		spread += (m - pool) * (m - pool) / float64(len(out))
	}
	kept := 0.0
	if e := noise / records; spread > e*e {
		kept = 1 - e*e/spread
	}
	for j := range out {
		out[j] = pool + kept*(out[j]-pool)
	}
	return out
}

// Recode returns encoded records with the columns centred, in units of their assumed
// standard deviation.
func (c Columns) Recode(x, centres []float64) []float64 {
	x = slices.Clone(x)
	for from := 0; from < len(x); from += c.features {
		for j, col := range c.columns {
			v := &x[from+col.at]
			*v = ((*v-col.middle)/col.half - centres[j]) / unit
		}
	}
	return x
}

// Schema returns the schema that encodes records as Recode does. Without centres they are
// at the middle of the ranges.
func Schema(s *dataset.Schema, centres []float64) *dataset.Schema {
	out := *s
	out.Columns = slices.Clone(s.Columns)
	k := 0
	for i, col := range out.Columns {
		if !Off(col) {
			continue
		}
		r := *col.Numeric
		r.Center = (r.Lo + r.Hi) / 2
		half := (r.Hi - r.Lo) / 2
		if centres != nil {
			r.Center += centres[k] * half
		}
		r.Scale = unit * half
		out.Columns[i].Numeric = &r
		k++
	}
	return &out
}
