package pvi

import (
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
)

// Terms adds single records' vectors: each is clipped in the reals, rounded to the grid,
// and clipped again on the integers, where the bound is exact. It works only on a vector's
// nonzero coordinates, since others add nothing to a norm and round to 0, so that a record
// with few features costs little. It is not safe for concurrent use.
type Terms struct {
	grid  fixedpoint.Grid
	clip  float64
	bound uint64
	at    []int32   // the nonzero coordinates of the current vector
	real  []float64 // their values
	units []int64   // the same on the grid
}

// NewTerms bounds every vector's L2 norm by clip in the reals and by bound in units of
// the grid; clip 0 bounds nothing.
func NewTerms(grid fixedpoint.Grid, clip float64, bound uint64) *Terms {
	return &Terms{grid: grid, clip: clip, bound: bound}
}

// Add adds v to sum, which has its length, and reports whether it was clipped. On an error
// sum is unchanged. Errors: fixedpoint's for a vector that is not finite or does not fit
// the grid, with the position among its nonzero coordinates; ErrOverflow.
func (t *Terms) Add(sum []int64, v []float64) (clipped bool, err error) {
	t.gather(v)
	if t.clip > 0 {
		clipped = t.cut()
	}
	if cap(t.units) < len(t.real) {
		t.units = make([]int64, len(v))
	}
	units := t.units[:len(t.real)]
	if err := t.grid.Round(units, t.real); err != nil {
		return clipped, err
	}
	if t.clip > 0 {
		clipped = fixedpoint.ClipInt(units, t.bound) || clipped
	}
	for k, i := range t.at {
		if x, next := units[k], sum[i]+units[k]; (x > 0) != (next > sum[i]) && x != 0 {
			return clipped, fmt.Errorf("coordinate %d: %w", i, ErrOverflow)
		}
	}
	for k, i := range t.at {
		sum[i] += units[k]
	}
	return clipped, nil
}

// cut scales the current vector to the real bound minus what rounding may add to its norm,
// half a unit for each coordinate, so that the integers need no second, slower clip. The
// plain sum of squares is accurate enough where it neither overflows nor underflows; the
// integer bound depends on neither.
func (t *Terms) cut() bool {
	var a, b float64
	x := t.real
	for ; len(x) > 1; x = x[2:] {
		a += float64(x[0] * x[0])
		b += float64(x[1] * x[1])
	}
	if len(x) > 0 {
		a += float64(x[0] * x[0])
	}
	square := a + b
	if !(square > 0x1p-400 && square < 0x1p400) {
		return fixedpoint.ClipReal(t.real, t.clip)
	}
	norm := math.Sqrt(square)
	to := t.clip - math.Ldexp(math.Sqrt(float64(len(t.real)))/2, -int(t.grid.FracBits))
	switch {
	case to <= 0: // a clip of few units: the integers' cut does it
		return fixedpoint.ClipReal(t.real, t.clip)
	case norm <= to:
		return false
	}
	scale := to / norm
	for i, x := range t.real {
		t.real[i] = float64(x * scale)
	}
	return true
}

// gather finds the nonzero coordinates. NaN is one.
func (t *Terms) gather(v []float64) {
	if cap(t.at) < len(v) {
		t.at, t.real = make([]int32, len(v)), make([]float64, len(v))
	}
	at := t.at[:len(v)]
	real := t.real[:len(v)]
	n := 0
	for i, x := range v {
		if x != 0 {
			at[n], real[n] = int32(i), x
			n++
		}
	}
	t.at, t.real = at[:n], real[:n]
}
