package model

import (
	"math"

	"choir/learn/gauss"
)

// LinearRecords is a shard under Linear that keeps its records, for optimisation
// and statistics that clip each of them.
type LinearRecords struct {
	*Linear
	x, y   []float64
	weight float64 // 1/noise^2
}

// newLinearRecords is newLinear that keeps x and y, without copying them.
func newLinearRecords(space gauss.Space, x, y []float64, noise, floor float64) *LinearRecords {
	return &LinearRecords{Linear: newLinear(space, x, y, noise, floor), x: x, y: y,
		weight: 1 / (noise * noise)}
}

// RecordGradients implements PerRecord for the mean-field family: the expected
// log-likelihood is -((y - x.mean)^2 + sum x_i^2 variance_i) / (2 noise^2) up to a
// constant.
func (l *LinearRecords) RecordGradients(ws *Workspace, mean, logSD []float64, rows []int,
	f func(row int, grad []float64) error) error {
	d := len(mean)
	grad := ws.pair(d)[:2*d]
	for _, row := range rows {
		x, r := l.x[row*d:(row+1)*d], l.y[row]
		for i, xi := range x {
			r -= xi * mean[i]
		}
		for i, xi := range x {
			grad[i] = l.weight * r * xi
			grad[d+i] = -l.weight * xi * xi * math.Exp(2*logSD[i])
		}
		if err := f(row, grad); err != nil {
			return err
		}
	}
	return nil
}

// RecordStatistics calls f once for each of rows with the natural parameters of the
// record's likelihood, whose sum over all records is the shard's ([Thesis], equations 4.9
// and 4.10). The next call overwrites grad, and f may change it; the first error of f stops
// it and is returned.
func (l *LinearRecords) RecordStatistics(ws *Workspace, rows []int,
	f func(row int, natural []float64) error) error {
	d := l.space.Features
	v := ws.matrices(l.space.Dim())[:l.space.Dim()]
	for _, row := range rows {
		x, y := l.x[row*d:(row+1)*d], l.y[row]
		for i, xi := range x {
			v[i] = l.weight * xi * y
			v[l.space.Index(i, i)] = -l.weight * xi * xi / 2
			for j := i + 1; j < d && l.space.Family == gauss.Full; j++ {
				v[l.space.Index(i, j)] = -l.weight * xi * x[j]
			}
		}
		if err := f(row, v); err != nil {
			return err
		}
	}
	return nil
}
