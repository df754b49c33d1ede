package bayes

import (
	"errors"
	"fmt"
	"math"

	"choir/learn/internal/secret"
)

// ErrData is in the chain of every error about records that a model cannot use.
var ErrData = errors.New("bad data")

// Data is a set of records: features row by row and one target for each row. The caller
// appends the bias column. This package never modifies it.
type Data struct {
	secret.Hidden

	X []float64 // row-major, len(Y) rows of the likelihood's Features columns
	Y []float64 // 0 or 1 for a model of classes, any finite number for Linear
}

// Rows returns the number of records.
func (d Data) Rows() int { return len(d.Y) }

// Pick returns these records.
func (d Data) Pick(rows []int) Data {
	var out Data
	for _, i := range rows {
		width := len(d.X) / d.Rows()
		out.X = append(out.X, d.X[i*width:(i+1)*width]...)
		out.Y = append(out.Y, d.Y[i])
	}
	return out
}

// Check returns an error that names the first record that the model cannot use, or nil. Errors: ErrData.
func (l Likelihood) Check(d Data) error {
	if len(d.X) != len(d.Y)*l.Features {
		return fmt.Errorf("%w: %d features for %d rows of %d columns", ErrData, len(d.X), len(d.Y),
			l.Features)
	}
	for i, x := range d.X {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: row %d, column %d is %v", ErrData, i/l.Features, i%l.Features, x)
		}
	}
	binary := l.kind().Binary
	for i, y := range d.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("%w: row %d, target is %v", ErrData, i, y)
		}
		if binary && y != 0 && y != 1 {
			return fmt.Errorf("%w: row %d, target is %v, want 0 or 1", ErrData, i, y)
		}
	}
	return nil
}

// Split assigns the records to shards by position: row i to shard i mod n. A record that is
// replaced in place changes one shard and moves no other record, as sensitivities by
// record require. Shards differ in size by at most one; with fewer rows than shards some are
// empty, which is allowed.
func (d Data) Split(n int) []Data {
	cols := 0
	if len(d.Y) > 0 {
		cols = len(d.X) / len(d.Y)
	}
	shards := make([]Data, n)
	for k := range shards {
		size := (len(d.Y) - k + n - 1) / n
		x, y := make([]float64, 0, size*cols), make([]float64, 0, size)
		for i := k; i < len(d.Y); i += n {
			x, y = append(x, d.X[i*cols:(i+1)*cols]...), append(y, d.Y[i])
		}
		shards[k] = Data{X: x, Y: y}
	}
	return shards
}
