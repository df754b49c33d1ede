package noiseaware

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// solve returns the posterior of w for b ~ N(H w, own + V) and w ~ N(0, diag(1/prior)).
func solve(h, own *mat.SymDense, b *mat.VecDense, variance, prior []float64) (*gauss.Moments, error) {
	d := len(variance)
	scatter := mat.NewSymDense(d, nil)
	scatter.CopySym(own)
	for i, v := range variance {
		scatter.SetSym(i, i, scatter.At(i, i)+v)
	}
	ridge(scatter)
	return given(h, scatter, b, prior)
}

// given returns the posterior of w for b ~ N(slope w, scatter) and w ~ N(0, diag(1/prior)).
func given(slope mat.Matrix, scatter *mat.SymDense, b *mat.VecDense,
	prior []float64) (*gauss.Moments, error) {
	d := len(prior)
	weighted, precision, err := normalEquations(slope, scatter, prior)
	if err != nil {
		return nil, err
	}
	m := &gauss.Moments{Mean: make([]float64, d), Covariance: mat.NewSymDense(d, nil)}
	var right mat.VecDense
	right.MulVec(weighted.T(), b)
	if err := precision.SolveVecTo(mat.NewVecDense(d, m.Mean), &right); failed(err) {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	if err := precision.InverseTo(m.Covariance); failed(err) {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	m.Variance = diagonal(m.Covariance)
	return m, nil
}

// normalEquations returns scatter^-1 slope and the posterior's precision, of given.
func normalEquations(slope mat.Matrix, scatter *mat.SymDense,
	prior []float64) (weighted *mat.Dense, precision *mat.Cholesky, err error) {
	d := len(prior)
	var c mat.Cholesky
	if !c.Factorize(scatter) {
		return nil, nil, fmt.Errorf("scatter: %w", gauss.ErrImproper)
	}
	weighted = new(mat.Dense)
	if err := c.SolveTo(weighted, slope); failed(err) {
		return nil, nil, fmt.Errorf("scatter: %w", err)
	}
	var information mat.Dense
	information.Mul(slope.T(), weighted)
	all := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			all.SetSym(i, j, 0.5*(information.At(i, j)+information.At(j, i)))
		}
		all.SetSym(i, i, all.At(i, i)+prior[i])
	}
	if !c.Factorize(all) {
		return nil, nil, fmt.Errorf("posterior: %w", gauss.ErrImproper)
	}
	return weighted, &c, nil
}

// ridge makes a matrix definite that may be singular without noise.
func ridge(m *mat.SymDense) {
	d := m.SymmetricDim()
	least := 1e-12*mat.Trace(m)/float64(d) + 1e-300
	for i := range d {
		m.SetSym(i, i, m.At(i, i)+least)
	}
}

// failed reports whether a factorisation has no usable result. A bad condition is a warning
// of gonum's; the numbers are finite.
func failed(err error) bool {
	_, warning := err.(mat.Condition)
	return err != nil && !warning
}

func diagonal(m *mat.SymDense) []float64 {
	out := make([]float64, m.SymmetricDim())
	for i := range out {
		out[i] = m.At(i, i)
	}
	return out
}
