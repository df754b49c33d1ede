package newton

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// root is the Cholesky factor of a covariance of sums. That of mat.Cholesky estimates the condition number,
// too, which takes longer than all else for as few rounds as a session has.
type root struct{ of blas64.Triangular }

// rootOf returns it; nil unless a is positive definite, and enough so that solving has digits left.
func rootOf(a *mat.SymDense) *root {
	upper := mat.NewSymDense(a.SymmetricDim(), nil)
	upper.CopySym(a)
	of, ok := lapack64.Potrf(upper.RawSymmetric())
	if !ok {
		return nil
	}
	for i := range of.N {
		left := of.Data[i*of.Stride+i]
		if left*left <= 1e-12*a.At(i, i) {
			return nil
		}
	}
	return &root{of}
}

// logDet is the logarithm of the covariance's determinant.
func (r *root) logDet() (sum float64) {
	for i := range r.of.N {
		sum += 2 * math.Log(r.of.Data[i*r.of.Stride+i])
	}
	return sum
}

// solve returns the inverse of the covariance times b.
func (r *root) solve(b mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(b)
	lapack64.Potrs(r.of, out.RawMatrix())
	return out
}
