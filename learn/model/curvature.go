package model

import "math"

// Curved is a Site that knows the curvature of its expected log-likelihood.
type Curved interface {
	Site
	// Curvature writes the entries from, from+1, ... of the curvature -E[d^2 log p/dw dw'] under
	// the mean-field Gaussian of these moments, in the order of gauss's full family: row by
	// row from the diagonal on. Entries above the diagonal are times the square root of 2, so
	// that the norm of all of them is Frobenius'.
	Curvature(ws *Workspace, dst []float64, from int, mean, variance []float64)
}

// Curvature implements Curved.
func (l *Logistic) Curvature(ws *Workspace, dst []float64, from int, mean, variance []float64) {
	clear(dst)
	n, d := len(l.y), l.x.Cols
	a, s := ws.row[0][:n], ws.row[1][:n]
	l.activations(a, s, mean, variance)
	for r := range n {
		_, c := sigmoidMoments(a[r], s[r])
		x := l.x.Data[r*d : (r+1)*d]
		eachEntry(d, from, len(dst), func(at, i, j int, weight float64) {
			dst[at] += weight * c * x[i] * x[j]
		})
	}
}

// CurvedRecords is a Site that knows the curvature of single records.
type CurvedRecords interface {
	Site
	// RecordCurvature is Curvature of a single record: a function of that record and the moments.
	RecordCurvature(dst []float64, from, row int, mean, variance []float64)
}

// RecordCurvature implements CurvedRecords.
func (l *Logistic) RecordCurvature(dst []float64, from, row int, mean, variance []float64) {
	clear(dst)
	d := l.x.Cols
	x := l.x.Data[row*d : (row+1)*d]
	a, s := 0.0, 0.0
	for i, xi := range x {
		a += xi * mean[i]
		s += xi * xi * variance[i]
	}
	_, c := sigmoidMoments(a, s)
	eachEntry(d, from, len(dst), func(at, i, j int, weight float64) {
		dst[at] = weight * c * x[i] * x[j]
	})
}

// Curvature implements Curved. It needs the mean-field family.
func (l *Linear) Curvature(_ *Workspace, dst []float64, from int, _, _ []float64) {
	d := l.space.Features
	eachEntry(d, from, len(dst), func(at, i, j int, weight float64) {
		dst[at] = weight * l.curvature(i, j)
	})
}

// RecordCurvature implements CurvedRecords.
func (l *LinearRecords) RecordCurvature(dst []float64, from, row int, _, _ []float64) {
	clear(dst)
	d := l.space.Features
	x := l.x[row*d : (row+1)*d]
	eachEntry(d, from, len(dst), func(at, i, j int, weight float64) {
		dst[at] = weight * l.weight * x[i] * x[j]
	})
}

// eachEntry calls f for n entries of the upper triangle of a d x d matrix, from the one with
// this number in the order of rows. It stops at the last.
func eachEntry(d, from, n int, f func(at, i, j int, weight float64)) {
	i := 0
	for i < d && from >= d-i {
		from -= d - i
		i++
	}
	j := i + from
	for at := 0; at < n && i < d; at++ {
		weight := math.Sqrt2
		if i == j {
			weight = 1
		}
		f(at, i, j, weight)
		if j++; j == d {
			i++
			j = i
		}
	}
}
