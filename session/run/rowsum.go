package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"choir/crypto/fixedpoint"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// RowSum is a secure sum over the rows of a matrix, with a party for each row and all
// members in this process.
type RowSum struct {
	Rows, Cols int
	Data       []float64 // row-major
	Columns    []string  // names for messages; may be nil
	Computes   int
	FracBits   int     // resolution 2^-FracBits; -1: chosen
	Sigma      float64 // noise on the sum in the inputs' unit; 0: none
	Mix        bool    // send the rows through the mix-net in place of adding them
	// Network starts what the members connect over, and returns how to end it.
	// nil: the memory of this process.
	Network func(ctx context.Context, s protocol.BoundPlan) (c Connect, shut func(), err error)
}

// Summed is the result of a RowSum.
type Summed struct {
	Units    []int64 // the sum in units of 2^-FracBits
	FracBits uint8
	Seconds  float64
	Reports  [][]int64 // with Mix, in place of Units: the rows, in an order that no member knows
}

// maxRowBits is the finest grid that is chosen: a rounding error of 4.5e-13 a row.
const maxRowBits = 40

// Run sums the rows. The error for values that the grid cannot represent is of
// protocol.ClassInput and names row and column, from 1.
func (r *RowSum) Run(ctx context.Context) (*Summed, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	bits := r.grid()
	rows, err := r.encode(bits)
	if err != nil {
		return nil, err
	}
	roster, err := NewRoster(nil, r.Rows, r.Computes)
	if err != nil {
		return nil, err
	}
	t := terms.Terms{Name: "sum", Members: roster.Members, Created: time.Now(), Lifetime: 24 * time.Hour,
		Deadline: time.Hour}
	p, err := t.Sum(terms.SumTerms{Dim: r.Cols, FracBits: bits, PerParty: r.bound(), Sigma: r.Sigma})
	if err != nil {
		return nil, err
	}
	rep, err := r.session(ctx, p, roster, rows)
	if err != nil {
		return nil, err
	}
	out := &Summed{Units: rep.Model, FracBits: bits, Seconds: rep.Seconds}
	if r.Mix {
		out.Reports = rep.Reports[0]
	}
	return out, nil
}

func (r *RowSum) check() error {
	switch {
	case r.Rows < 1 || r.Cols < 1 || len(r.Data) != r.Rows*r.Cols:
		return protocol.Fail(protocol.ClassInput, "input: %d values aren't %d rows of %d columns", len(r.Data),
			r.Rows, r.Cols)
	case r.Computes < 2 || r.Computes > 1000:
		return protocol.Fail(protocol.ClassInput,
			"computes: %d isn't in 2..1000; one node alone would see every row", r.Computes)
	case r.FracBits < -1 || r.FracBits > fixedpoint.MaxFracBits:
		return protocol.Fail(protocol.ClassInput, "frac_bits: %d isn't in 0..%d", r.FracBits,
			fixedpoint.MaxFracBits)
	case !(r.Sigma >= 0) || math.IsInf(r.Sigma, 0):
		return protocol.Fail(protocol.ClassInput, "sigma: %v isn't a standard deviation", r.Sigma)
	}
	for i, v := range r.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return protocol.Fail(protocol.ClassInput, "input: %s isn't a finite number", r.cell(i/r.Cols, i%r.Cols))
		}
	}
	return nil
}

// bound is the largest L2 norm of a row in grid units; half of the field's range is
// left for the noise.
func (r *RowSum) bound() uint64 { return 1 << 62 / uint64(r.Rows) }

// grid chooses a resolution: with noise, a millionth of sigma, which does not depend
// on the rows; without, as fine as their size allows, up to maxRowBits.
func (r *RowSum) grid() uint8 {
	switch {
	case r.FracBits >= 0:
		return uint8(r.FracBits)
	case r.Sigma > 0:
		return terms.GridFor(r.Sigma)
	}
	largest := 0.0
	for i := range r.Rows {
		largest = math.Max(largest, r.norm(i))
	}
	bits := maxRowBits
	for bits > 0 && math.Ldexp(largest, bits) > float64(r.bound())/2 {
		bits--
	}
	return uint8(bits)
}

func (r *RowSum) row(i int) []float64 { return r.Data[i*r.Cols : (i+1)*r.Cols] }

// norm never overflows: it is relative to the largest value.
func (r *RowSum) norm(i int) float64 {
	_, top := r.largest(i)
	if top == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range r.row(i) {
		sum += (v / top) * (v / top)
	}
	return top * math.Sqrt(sum)
}

// largest returns the column with the largest magnitude of a row.
func (r *RowSum) largest(i int) (column int, top float64) {
	for j, v := range r.row(i) {
		if math.Abs(v) > top {
			column, top = j, math.Abs(v)
		}
	}
	return column, top
}

// encode rounds the rows to the grid.
func (r *RowSum) encode(bits uint8) ([][]int64, error) {
	g := fixedpoint.Grid{FracBits: bits}
	rows := make([][]int64, r.Rows)
	for i := range rows {
		rows[i] = make([]int64, r.Cols)
		if err := g.Round(rows[i], r.row(i)); err != nil || !fixedpoint.NormSquaredAtMost(rows[i], r.bound()) {
			j, _ := r.largest(i)
			return nil, protocol.Fail(protocol.ClassInput,
				"input: %s is too large: on the grid 2^-%d a row may reach about %.3g, or the sum of all (%d) could "+
					"overflow",
				r.cell(i, j), bits, math.Ldexp(float64(r.bound()), -int(bits)), r.Rows)
		}
	}
	return rows, nil
}

func (r *RowSum) cell(i, j int) string {
	if j < len(r.Columns) {
		return fmt.Sprintf("row %d, column %s", i+1, r.Columns[j])
	}
	return fmt.Sprintf("row %d, column %d", i+1, j+1)
}

// session runs the plan. Stores are in memory: nothing needs to survive this
// process.
func (r *RowSum) session(ctx context.Context, p *protocol.Plan, roster *Roster, rows [][]int64) (*Report,
	error) {
	keys, err := roster.KeysIn(p)
	if err != nil {
		return nil, err
	}
	s := protocol.Bind(p)
	sum := app.Sum{Dim: r.Cols}
	l := &Local{Session: s, Keys: keys, Model: sum, Mix: r.Mix,
		App:      func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer { return app.Fixed(rows[i]) }}
	if r.Network != nil {
		connect, shut, err := r.Network(ctx, s)
		if err != nil {
			return nil, err
		}
		defer shut()
		l.Connect = connect
	}
	return l.Run(ctx)
}
