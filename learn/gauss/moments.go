package gauss

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Moments is a proper Gaussian by its mean and covariance.
type Moments struct {
	Mean       []float64     // length d
	Variance   []float64     // marginal variances, length d
	Covariance *mat.SymDense // d x d in the full family, nil in the mean-field one
}

// Moments returns the mean and covariance of the Gaussian with natural parameters v. It
// fails with ErrImproper when the precision is not positive definite or a number is not
// finite.
func (s Space) Moments(v []float64) (*Moments, error) {
	if err := s.Check(v); err != nil {
		return nil, err
	}
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("coordinate %d is %v: %w", i, x, ErrImproper)
		}
	}
	if s.Family == Full {
		return s.fullMoments(v)
	}
	m := &Moments{Mean: make([]float64, s.Features), Variance: make([]float64, s.Features)}
	for i := range s.Features {
		p := -2 * v[s.Features+i]
		if !(p > 0) {
			return nil, fmt.Errorf("coordinate %d: %w", i, ErrImproper)
		}
		m.Mean[i], m.Variance[i] = v[i]/p, 1/p
	}
	return m, nil
}

func (s Space) fullMoments(v []float64) (*Moments, error) {
	var chol mat.Cholesky
	if !chol.Factorize(s.Precision(v)) {
		return nil, ErrImproper
	}
	m := &Moments{
		Mean: make([]float64, s.Features), Variance: make([]float64, s.Features),
		Covariance: mat.NewSymDense(s.Features, nil),
	}
	// An ill-conditioned but factorised matrix still gives finite moments; gonum
	// reports it as a mat.Condition, which is a warning here.
	mean, h := mat.NewVecDense(s.Features, m.Mean), mat.NewVecDense(s.Features, v[:s.Features:s.Features])
	if err := chol.SolveVecTo(mean, h); err != nil && !isCondition(err) {
		return nil, fmt.Errorf("mean: %w", err)
	}
	if err := chol.InverseTo(m.Covariance); err != nil && !isCondition(err) {
		return nil, fmt.Errorf("covariance: %w", err)
	}
	for i := range s.Features {
		m.Variance[i] = m.Covariance.At(i, i)
	}
	return m, nil
}

func isCondition(err error) bool {
	_, ok := err.(mat.Condition)
	return ok
}

// Natural is the inverse of Moments: the natural parameters of N(mean, diag(variance)) in the
// mean-field family, of N(mean, Covariance) in the full one. Errors: ErrImproper.
func (s Space) Natural(m *Moments) ([]float64, error) {
	v := make([]float64, s.Dim())
	if s.Family == Full {
		return v, s.fullNatural(v, m)
	}
	for i := range s.Features {
		if !(m.Variance[i] > 0) {
			return nil, fmt.Errorf("variance %d: %w", i, ErrImproper)
		}
		v[i], v[s.Features+i] = m.Mean[i]/m.Variance[i], -0.5/m.Variance[i]
	}
	return v, nil
}

func (s Space) fullNatural(v []float64, m *Moments) error {
	var chol mat.Cholesky
	if m.Covariance == nil || !chol.Factorize(m.Covariance) {
		return fmt.Errorf("covariance: %w", ErrImproper)
	}
	p := mat.NewSymDense(s.Features, nil)
	if err := chol.InverseTo(p); err != nil && !isCondition(err) {
		return fmt.Errorf("precision: %w", err)
	}
	mat.NewVecDense(s.Features, v[:s.Features]).MulVec(p, mat.NewVecDense(s.Features, m.Mean))
	s.SetPrecision(v, p)
	return nil
}
