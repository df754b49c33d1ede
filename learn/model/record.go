package model

import "math"

// PerRecord is a Site that gives gradients of single records, for optimisation with
// per-record clipping ([DP-PVI], DP optimisation; global DP-VI).
//
// A record's gradient is a function of the public parameters and of that record only: of no
// other record, nor of their number. Sensitivity proofs rely on it.
type PerRecord interface {
	Site
	// RecordGradients calls f once for each of rows, in that order, with the
	// derivative of the record's expected log-likelihood E_q'[log p(y | x, w)] by
	// the means (the first d numbers) and by the log standard deviations (the
	// other d) of the mean-field Gaussian q'. There is no prior and no entropy in
	// it. grad is overwritten by the next call and f may change it. The first
	// error of f ends it and is returned. rows are indices below Rows, repeats
	// allowed.
	RecordGradients(ws *Workspace, mean, logSD []float64, rows []int,
		f func(row int, grad []float64) error) error
}

// RecordGradients implements PerRecord; see Gradient for the formulas.
func (l *Logistic) RecordGradients(ws *Workspace, mean, logSD []float64, rows []int,
	f func(row int, grad []float64) error) error {
	d := l.x.Cols
	variance, grad := ws.param[2], ws.pair(d)
	for i, s := range logSD {
		variance[i] = math.Exp(2 * s)
	}
	for _, r := range rows {
		x, sq := l.x.Data[r*d:(r+1)*d], l.sq.Data[r*d:(r+1)*d]
		var a, s float64
		for i, xi := range x {
			a += xi * mean[i]
			s += sq[i] * variance[i]
		}
		p, curve := sigmoidMoments(a, s)
		residual := l.y[r] - p
		for i, xi := range x {
			grad[i] = residual * xi
			grad[d+i] = -curve * sq[i] * variance[i]
		}
		if err := f(r, grad[:2*d]); err != nil {
			return err
		}
	}
	return nil
}
