// Package model implements the local optimisers of partitioned variational inference: from
// the public global posterior q and a shard's cavity, both as natural parameters (package
// gauss), they compute the shard's posterior.
//
// A Site is one shard's data, prepared for the model. Update maximises, exactly or by a
// given number of optimiser steps, the local free energy ([DP-PVI], equation 3.5; [Thesis],
// equation 2.21):
//
//	E_q'[log p(data | w)] - KL(q' || cavity)
//
// Everything here is deterministic: no sampling, no map order, no goroutines, so that equal
// inputs give equal floating-point outputs on one platform. Clipping, rounding and noise
// are the caller's.
//
// A cavity may be improper, because the noise of a private session is in q and not in the
// factor that is divided out. Each Site documents its behaviour then; none returns a NaN
// for finite input.
package model

// Site is one shard's likelihood. It is read-only after construction: several
// goroutines may call Update at once with a Workspace each.
type Site interface {
	// Rows is the number of records.
	Rows() int
	// Update writes the change of natural parameters, optimum minus q, into dst.
	// dst, q and cavity have the length of the space and must not overlap; q is
	// proper.
	Update(ws *Workspace, dst, q, cavity []float64)
}

// Workspace is the scratch memory of Update, reused from shard to shard so that a
// round allocates nothing. One goroutine at a time.
type Workspace struct {
	// Stop reports whether to end an Update between two steps, with a result that the caller
	// drops. nil never does.
	Stop func() bool

	param  [6][]float64 // vectors of length d
	row    [2][]float64 // vectors of length rows
	double []float64    // 2d numbers
	dense  []float64    // d*d numbers, for the mean-field linear solve only
	layer  []float64    // for a network's hidden layer over all rows
	unit   []float64    // for one row
}

// NewWorkspace makes scratch memory for sites over d weights with at most rows
// records.
func NewWorkspace(d, rows int) *Workspace {
	ws := new(Workspace)
	for i := range ws.param {
		ws.param[i] = make([]float64, d)
	}
	for i := range ws.row {
		ws.row[i] = make([]float64, rows)
	}
	return ws
}

// square returns d*d numbers of scratch memory, allocated on first use: the logistic model
// needs none.
func (ws *Workspace) square(d int) []float64 {
	if len(ws.dense) < d*d {
		ws.dense = make([]float64, d*d)
	}
	return ws.dense[:d*d]
}

// pair returns 2d numbers of scratch memory.
func (ws *Workspace) pair(d int) []float64 {
	if len(ws.double) < 2*d {
		ws.double = make([]float64, 2*d)
	}
	return ws.double[:2*d]
}

// matrices returns n numbers of scratch memory for a hidden layer over all rows.
func (ws *Workspace) matrices(n int) []float64 {
	if len(ws.layer) < n {
		ws.layer = make([]float64, n)
	}
	return ws.layer[:n]
}

// units returns n numbers of scratch memory for a hidden layer over one row.
func (ws *Workspace) units(n int) []float64 {
	if len(ws.unit) < n {
		ws.unit = make([]float64, n)
	}
	return ws.unit[:n]
}
