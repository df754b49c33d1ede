// Package centre measures where columns lie within their public ranges and how wide they
// are, so that learning can start from columns that are centred and of a known size. A column
// that is encoded by its range alone has its mean anywhere in [-1, 1]: such columns pull
// together with the bias, and clipped updates lose the intercept. Its standard deviation
// is anywhere in [0, 1]: records longer than the plan expects are clipped.
//
// The first rounds of a plan sum the records' positions, their squares and a 1 for each record,
// in vectors with the clip of learning. Their sensitivity and noise are those of every other
// round, so that they compose like any of them. The frame is a function of these sums.
package centre

import (
	"io"
	"math"
	"slices"

	"choir/crypto/fixedpoint"
	"choir/learn/dataset"
	"choir/learn/internal/coin"
	"choir/learn/pvi"
)

const (
	// unit is the standard deviation that a column is taken to have, in halves of its range,
	// unless it is found to have a larger one: its scale after centring.
	unit = 0.3
	// typical is the root mean square of a column's position: longer records are clipped.
	typical = 0.6
	// squares is the weight of the squares of positions in a record's vector.
	squares = 0.5
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
			c.columns = append(c.columns, column{at, (middle - r.Center) / r.Scale, (r.Hi - middle) / r.Scale})
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

// Sample draws each record with this probability by rand, which must be secret, as a round of a method that
// samples does. At rate 1 it reads nothing. Errors: rand's.
func Sample(d pvi.Data, rate float64, rand io.Reader) (pvi.Data, error) {
	if rate >= 1 {
		return d, nil
	}
	drawn, err := coin.New(rate).Draw(d.Rows(), rand)
	if err != nil || len(drawn) == 0 {
		return pvi.Data{}, err
	}
	width := len(d.X) / d.Rows()
	var out pvi.Data
	for _, i := range drawn {
		out.X = append(out.X, d.X[i*width:(i+1)*width]...)
		out.Y = append(out.Y, d.Y[i])
	}
	return out, nil
}

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
	return math.Sqrt(1 + typical*typical*(1+squares*squares)*float64(len(c.columns)))
}

// Sum adds a party's records to sum, of twice as many numbers as an encoded record has: in at
// most so many groups, each with a mean of norm at most clip, and at most bound in units of
// the grid. A record is in one group. It returns the share of groups that were clipped.
func (c Columns) Sum(sum []int64, d pvi.Data, groups int, grid fixedpoint.Grid, clip float64,
	bound uint64) (clipped float64, err error) {
	terms := pvi.NewTerms(grid, clip, bound)
	groups = min(groups, d.Rows())
	v := make([]float64, 2*c.features)
	for k := range groups {
		clear(v)
		n := float64((d.Rows() - k + groups - 1) / groups)
		by := clip / c.length()
		for i := k; i < d.Rows(); i += groups {
			row := d.X[i*c.features : (i+1)*c.features]
			for _, col := range c.columns {
				at := (row[col.at] - col.middle) / col.half
				v[col.at] += at * by / n
				v[c.features+col.at] += squares * at * at * by / n
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

// Frame is where columns lie within their ranges: the positions of their centres, in [-1, 1],
// and their units in halves of the range.
type Frame struct{ Centres, Units []float64 }

// Frame returns that of the columns' means and standard deviations; the unit of a column that is
// narrower than assumed is the assumed one. state has the number of accepted rounds, and the
// sums. variance is that of the noise on one sum, in units of the grid squared. Means and mean
// squares are shrunk towards those of all columns by what the noise explains of their spread.
func (c Columns) Frame(state []int64, variance float64) Frame {
	noise := math.Sqrt(variance * float64(state[0]))
	records := max(float64(state[c.features]), noise)
	f := Frame{make([]float64, len(c.columns)), make([]float64, len(c.columns))}
	variances := make([]float64, len(c.columns))
	if records > 0 {
		for j, col := range c.columns {
			f.Centres[j] = min(1, max(-1, float64(state[1+col.at])/records))
			square := float64(state[1+c.features+col.at]) / records / squares
			variances[j] = min(1, max(0, square)) - f.Centres[j]*f.Centres[j]
		}
		shrink(f.Centres, noise/records)
		shrink(variances, noise/records/squares)
	}
	for j, v := range variances {
		f.Units[j] = max(unit, math.Sqrt(max(0, v)))
	}
	return f
}

// shrink moves values towards their mean by what noise of this deviation explains of their
// spread.
func shrink(values []float64, noise float64) {
	n := float64(len(values))
	pool, spread := 0.0, 0.0
	for _, v := range values {
		pool += v / n
	}
	for _, v := range values {
		spread += (v - pool) * (v - pool) / n
	}
	kept := 0.0
	if spread > noise*noise {
		kept = 1 - noise*noise/spread
	}
	for j, v := range values {
		values[j] = pool + kept*(v-pool)
	}
}

// Recode returns encoded records with the columns centred, in their units.
func (c Columns) Recode(x []float64, f Frame) []float64 {
	x = slices.Clone(x)
	for from := 0; from < len(x); from += c.features {
		for j, col := range c.columns {
			v := &x[from+col.at]
			*v = ((*v-col.middle)/col.half - f.Centres[j]) / f.Units[j]
		}
	}
	return x
}

// Weights returns the weights that predict of recoded records what these do of encoded ones. The last is the
// intercept's.
func (c Columns) Weights(w []float64, f Frame) []float64 {
	w = slices.Clone(w)
	for j, col := range c.columns {
		w[len(w)-1] += w[col.at] * (col.middle + col.half*f.Centres[j])
		w[col.at] *= col.half * f.Units[j]
	}
	return w
}

// Schema returns the schema that encodes records as Recode does. Without a frame columns are
// centred at the middle of their ranges, in the assumed units.
func Schema(s *dataset.Schema, f *Frame) *dataset.Schema {
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
		r.Scale = unit * half
		if f != nil {
			r.Center += f.Centres[k] * half
			r.Scale = f.Units[k] * half
		}
		out.Columns[i].Numeric = &r
		k++
	}
	return &out
}
