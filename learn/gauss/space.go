// Package gauss defines the coordinates in which Choir adds Gaussians: the natural
// parameters of a mean-field or full-covariance Gaussian over d weights.
//
// Products and quotients of Gaussians are sums and differences of these vectors. That is
// why factors, cavities and updates are plain vectors in the other packages, and why
// improper factors (negative precision) need no special case: only Moments requires a
// proper Gaussian.
//
// With mean m and precision matrix P, the density is exp(h.x - x'Px/2) up to a constant, h
// = P m. The coordinates are those of the minimal exponential family with sufficient
// statistics x_i and x_i x_j:
//
//	mean-field: h_0 .. h_{d-1}, -P_00/2 .. -P_{d-1,d-1}/2            2d numbers
//	full:       h_0 .. h_{d-1}, then for i <= j in row order:
//	            -P_ii/2 on the diagonal, -P_ij above it    d + d(d+1)/2 numbers
//
// The mean-field ones are those of the code of [DP-PVI] (m/s^2, -1/(2 s^2)); clipping by
// one joint L2 norm means the norm of exactly this vector.
package gauss

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Family names the shape of the covariance.
type Family string

// The families.
const (
	MeanField Family = "mean-field" // independent weights
	Full      Family = "full"       // full covariance
)

// ErrImproper: a vector is not the natural parameter of a proper Gaussian, since its
// precision is not positive definite or a number is not finite.
var ErrImproper = errors.New("precision is not positive definite")

// Space is a family over a number of weights. The zero value is not valid.
type Space struct {
	Family   Family
	Features int // d, at least 1
}

// Dim is the length of a natural-parameter vector.
func (s Space) Dim() int {
	if s.Family == Full {
		return s.Features + s.Features*(s.Features+1)/2
	}
	return 2 * s.Features
}

// Index is the place of the coordinate of P_ij. It needs 0 <= i <= j < d, and i = j
// in the mean-field family.
func (s Space) Index(i, j int) int {
	if s.Family == Full {
		return s.Features + i*s.Features - i*(i-1)/2 + (j - i)
	}
	return s.Features + i
}

// Prior writes the isotropic Gaussian N(0, I/precision) into dst, of length Dim.
func (s Space) Prior(dst []float64, precision float64) {
	clear(dst)
	for i := range s.Features {
		dst[s.Index(i, i)] = -precision / 2
	}
}

// Precision returns the precision matrix of v, proper or not.
func (s Space) Precision(v []float64) *mat.SymDense {
	p := mat.NewSymDense(s.Features, nil)
	for i := range s.Features {
		p.SetSym(i, i, -2*v[s.Index(i, i)])
		if s.Family != Full {
			continue
		}
		for j := i + 1; j < s.Features; j++ {
			p.SetSym(i, j, -v[s.Index(i, j)])
		}
	}
	return p
}

// SetPrecision writes the coordinates of p into v and leaves h unchanged. The mean-field
// family uses the diagonal only.
func (s Space) SetPrecision(v []float64, p mat.Symmetric) {
	for i := range s.Features {
		v[s.Index(i, i)] = -p.At(i, i) / 2
		if s.Family != Full {
			continue
		}
		for j := i + 1; j < s.Features; j++ {
			v[s.Index(i, j)] = -p.At(i, j)
		}
	}
}

// Check reports whether v has the length of the space.
func (s Space) Check(v []float64) error {
	if len(v) != s.Dim() {
		return fmt.Errorf("natural parameters of length %d, want %d", len(v), s.Dim())
	}
	return nil
}
