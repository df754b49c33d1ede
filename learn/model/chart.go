package model

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// Chart is a parameterisation for steps on a local free energy: every value of the
// parameters is a proper Gaussian, so that noise cannot lead out. Vectors have the length
// of the space; theta is what Open writes.
type Chart interface {
	// Open writes the parameters of a proper q. Errors: gauss.ErrImproper.
	Open(theta, q []float64) error
	// RecordGradients calls f once for each of rows with the derivative of the
	// record's expected log-likelihood by theta, as PerRecord does.
	RecordGradients(ws *Workspace, theta []float64, rows []int, f func(row int, grad []float64) error) error
	// Pull adds to g the derivative of the entropy and of the expected log cavity.
	Pull(g, theta, cavity []float64)
	// Confine takes theta back to where every number is finite, given where it
	// began. It is out of reach in a sane configuration.
	Confine(theta, start []float64)
	// Natural writes the natural parameters. Errors: gauss.ErrImproper.
	Natural(dst, theta []float64) error
}

// NewMeanFieldChart is (mean, log sd / unit) of a mean-field Gaussian, unit > 0. A
// small unit makes steps in the log sds short, and the noise in them with the steps.
func NewMeanFieldChart(site PerRecord, unit float64) Chart { return meanFieldChart{site, unit} }

type meanFieldChart struct {
	site PerRecord
	unit float64
}

func (c meanFieldChart) Open(theta, q []float64) error {
	d := len(q) / 2
	for i := range d {
		p := -2 * q[d+i]
		if !(p > 0) {
			return gauss.ErrImproper
		}
		theta[i], theta[d+i] = q[i]/p, -0.5*math.Log(p)/c.unit
	}
	return nil
}

func (c meanFieldChart) RecordGradients(ws *Workspace, theta []float64, rows []int,
	f func(int, []float64) error) error {
	d := len(theta) / 2
	if c.unit == 1 {
		return c.site.RecordGradients(ws, theta[:d], theta[d:], rows, f)
	}
	logSD := make([]float64, d)
	for i, t := range theta[d:] {
		logSD[i] = c.unit * t
	}
	return c.site.RecordGradients(ws, theta[:d], logSD, rows, func(row int, grad []float64) error {
		for i := range grad[d:] {
			grad[d+i] *= c.unit
		}
		return f(row, grad)
	})
}

func (c meanFieldChart) Pull(g, theta, cavity []float64) {
	d := len(theta) / 2
	for i := range d {
		p := -2 * cavity[d+i]
		g[i] += cavity[i] - p*theta[i]
		g[d+i] += c.unit * (1 - p*math.Exp(2*c.unit*theta[d+i]))
	}
}

// maxStep is how far from 0 a mean or an element of a Cholesky factor may be.
const maxStep = 0x1p40

func within(theta []float64) {
	for i, x := range theta {
		theta[i] = min(max(x, -maxStep), maxStep)
	}
}

func (c meanFieldChart) Confine(theta, start []float64) {
	d := len(theta) / 2
	within(theta[:d])
	for i, s := range start[d:] {
		theta[d+i] = min(max(theta[d+i], s-maxLogSD/c.unit), s+maxLogSD/c.unit)
	}
}

func (c meanFieldChart) Natural(dst, theta []float64) error {
	d := len(theta) / 2
	for i := range d {
		p := math.Exp(-2 * c.unit * theta[d+i])
		dst[i], dst[d+i] = theta[i]*p, -p/2
	}
	return nil
}

// NewCholeskyChart is (mean, L) of a Gaussian with the covariance L L', for linear
// regression in the full family. L is lower triangular with a positive diagonal, whose
// logarithms are the parameters; L_ji is at gauss.Space.Index(i, j), i <= j.
func NewCholeskyChart(site *LinearRecords) Chart { return choleskyChart{site} }

type choleskyChart struct{ *LinearRecords }

func (c choleskyChart) Open(theta, q []float64) error {
	m, err := c.space.Moments(q)
	if err != nil {
		return err
	}
	var chol mat.Cholesky
	if !chol.Factorize(m.Covariance) {
		return gauss.ErrImproper
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	copy(theta, m.Mean)
	for i := range c.space.Features {
		theta[c.space.Index(i, i)] = math.Log(lower.At(i, i))
		for j := i + 1; j < c.space.Features; j++ {
			theta[c.space.Index(i, j)] = lower.At(j, i)
		}
	}
	return nil
}

// at is L_ji, i <= j.
func (c choleskyChart) at(theta []float64, i, j int) float64 {
	l := theta[c.space.Index(i, j)]
	if i == j {
		return math.Exp(l)
	}
	return l
}

// RecordGradients: with r = y - x.mean and u = L'x, the expected log-likelihood is
// -(r^2 + |u|^2) / (2 noise^2) up to a constant.
func (c choleskyChart) RecordGradients(ws *Workspace, theta []float64, rows []int,
	f func(int, []float64) error) error {
	d := c.space.Features
	grad := ws.matrices(len(theta))[:len(theta)]
	for _, row := range rows {
		x := c.x[row*d : (row+1)*d]
		r := c.y[row]
		for i, xi := range x {
			r -= xi * theta[i]
		}
		for i, xi := range x {
			grad[i] = c.weight * r * xi
			var u float64
			for j := i; j < d; j++ {
				u += c.at(theta, i, j) * x[j]
			}
			for j := i; j < d; j++ {
				grad[c.space.Index(i, j)] = -c.weight * x[j] * u
			}
			grad[c.space.Index(i, i)] *= c.at(theta, i, i)
		}
		if err := f(row, grad); err != nil {
			return err
		}
	}
	return nil
}

func (c choleskyChart) Pull(g, theta, cavity []float64) {
	d, p := c.space.Features, c.space.Precision(cavity)
	for i := range d {
		g[i] += cavity[i]
		for j := range d {
			g[i] -= p.At(i, j) * theta[j]
		}
		for j := i; j < d; j++ {
			var pl float64 // (P L)_ji
			for k := i; k < d; k++ {
				pl += p.At(j, k) * c.at(theta, i, k)
			}
			if i == j {
				g[c.space.Index(i, i)] += 1 - pl*c.at(theta, i, i)
			} else {
				g[c.space.Index(i, j)] -= pl
			}
		}
	}
}

func (c choleskyChart) Confine(theta, start []float64) {
	within(theta)
	for i := range c.space.Features {
		at := c.space.Index(i, i)
		theta[at] = min(max(theta[at], start[at]-maxLogSD), start[at]+maxLogSD)
	}
}

func (c choleskyChart) Natural(dst, theta []float64) error {
	d := c.space.Features
	lower, cov := mat.NewTriDense(d, mat.Lower, nil), mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			lower.SetTri(j, i, c.at(theta, i, j))
		}
	}
	cov.SymOuterK(1, lower)
	v, err := c.space.Natural(&gauss.Moments{Mean: theta[:d], Covariance: cov})
	copy(dst, v)
	return err
}
