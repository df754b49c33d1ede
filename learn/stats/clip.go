package stats

import (
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// normals is the law of scaled records z = (x, 1, y): normal, but for the bias, whose variance is 0.
type normals struct {
	mean    *mat.VecDense
	scatter *mat.SymDense // covariance
}

// taken is what the radius takes from a record's products under a law. A record with q = |z|^2 has the
// weight s = min(1, R^2/q) and the residual e.
type taken struct {
	share    float64       // E[1 - s]
	products *mat.SymDense // E[(1 - s) zz']
	slope    *mat.SymDense // E[2 k e y zz'] with k = -ds/dq
	squares  *mat.SymDense // E[(1 - s^2) e^2 zz']
}

// The quadrature skips a radius that takes less than the share tiny of the records. It ends where terms are
// below tiny times the largest, or after mostTerms. The law of q, times exp(-cq) for q far from R^2, repeats
// at such distances that what overlaps is below exp(-apart).
const (
	tiny      = 1e-9
	mostTerms = 2000
	apart     = 25
)

// taken returns what a radius takes, for the residual e = z'line; nil if that is next to nothing.
//
// A function f of q that vanishes below R^2 has a Laplace transform F, and E[f(q) zz'] is the integral of
// F(t) E[exp(tq) zz'] / 2 pi over t = c + iu and all real u. Under the weight exp(tq) normal records stay
// normal, with the covariance S/(1 - 2tS) and the mean m/(1 - 2tS), so that the products' means are
// known in closed form. The integral goes through the saddle point c, where the terms oscillate least.
func (n normals) taken(radius float64, line *mat.VecDense) (*taken, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(n.scatter, true) {
		return nil, fmt.Errorf("the records' eigenvalues do not converge: %w", gauss.ErrImproper)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var mean, residual mat.VecDense
	mean.MulVec(vectors.T(), n.mean)
	residual.MulVec(vectors.T(), line)
	f := tilted{radius: radius * radius, values: eigen.Values(nil), mean: mean.RawVector().Data,
		residual: residual.RawVector().Data, target: mat.Row(nil, n.mean.Len()-1, &vectors)}
	for i, v := range f.values {
		f.values[i] = max(v, 0)
	}
	c, step := f.saddle()
	if bound := real(f.weight(complex(c, 0))) - c*f.radius; !(bound > math.Log(tiny)) { // Chernoff's
		return nil, nil
	}
	out := f.sum(c, step)
	if !(out.share > 0 && out.share < 1) {
		return nil, nil
	}
	for _, m := range []*mat.SymDense{out.products, out.slope, out.squares} {
		turn(m, &vectors)
	}
	return out, nil
}

// turn replaces a matrix in the coordinates of vectors by the same matrix.
func turn(m *mat.SymDense, vectors *mat.Dense) {
	var half, full mat.Dense
	half.Mul(vectors, m)
	full.Mul(&half, vectors.T())
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, full.At(i, j))
		}
	}
}

// tilted are normal records in the coordinates of their covariance's eigenvectors.
type tilted struct {
	radius           float64 // R^2
	values, mean     []float64
	residual, target []float64 // the linear forms of a record's residual and target
}

// saddle returns the point on the real line where exp(-tR^2) E[exp(tq)] / t^2 is least, and a step for
// the integral through it.
func (f tilted) saddle() (c, step float64) {
	widest := tiny
	for _, v := range f.values {
		widest = max(widest, v)
	}
	low, high := 0.0, 1/(2*widest)
	bend := 0.0
	for range 60 {
		c = (low + high) / 2
		slope := -f.radius - 2/c
		bend = 2 / (c * c)
		for i, v := range f.values {
			by, m := 1/(1-2*c*v), f.mean[i]
			slope += v*by + m*m*by*by
			bend += 2*v*v*by*by + 4*m*m*v*by*by*by
		}
		if slope < 0 {
			low = c
		} else {
			high = c
		}
	}
	return c, min(0.5/math.Sqrt(bend), 2*math.Pi*min(c, 1/(2*widest)-c)/apart)
}

// weight is the logarithm of E[exp(tq)].
func (f tilted) weight(t complex128) (log complex128) {
	for i, v := range f.values {
		by := 1 - 2*t*complex(v, 0)
		log += t*complex(f.mean[i]*f.mean[i], 0)/by - cmplx.Log(by)/2
	}
	return log
}

// sum is the integral's half above the real line by equal steps; the other half is conjugate.
func (f tilted) sum(c, step float64) *taken {
	d := len(f.values)
	out := &taken{products: mat.NewSymDense(d, nil), slope: mat.NewSymDense(d, nil),
		squares: mat.NewSymDense(d, nil)}
	most := 0.0
	for k := range mostTerms {
		t := complex(c, step*float64(k))
		z := t * complex(f.radius, 0)
		e := exponential(z)
		all := cmplx.Exp(f.weight(t)-z) * complex(f.radius*step/math.Pi, 0)
		if k == 0 {
			all /= 2
		}
		// The transforms of 1 - R^2/q and 1 - R^4/q^2; that of k is the first one times t.
		once, twice := all*(1/z-e), all*(1/z-1+z*e)
		size := cmplx.Abs(once) * (1 + cmplx.Abs(t))
		if most = max(most, size); size < tiny*most {
			break
		}
		out.share += real(once)
		f.add(out, t, once, 2*once*t, twice)
	}
	return out
}

// add adds a term at t to the sums, by Wick's formula for the fourth moments.
func (f tilted) add(out *taken, t, once, bent, twice complex128) {
	d := len(f.values)
	mean, own := make([]complex128, d), make([]complex128, d)        // of a coordinate
	residual, target := make([]complex128, d), make([]complex128, d) // covariances with it
	var meanResidual, meanTarget, cross, square complex128           // cross: of residual and target
	for i, v := range f.values {
		by := 1 / (1 - 2*t*complex(v, 0))
		l, y := complex(f.residual[i], 0), complex(f.target[i], 0)
		mean[i], own[i] = complex(f.mean[i], 0)*by, complex(v, 0)*by
		residual[i], target[i] = own[i]*l, own[i]*y
		meanResidual += mean[i] * l
		meanTarget += mean[i] * y
		cross += residual[i] * y
		square += residual[i] * l
	}
	cross += meanResidual * meanTarget
	square += meanResidual * meanResidual
	products, slope, squares := out.products.RawSymmetric().Data, out.slope.RawSymmetric().Data,
		out.squares.RawSymmetric().Data
	for i := range d {
		for j := i; j < d; j++ {
			two := mean[i] * mean[j]
			if i == j {
				two += own[i]
			}
			left := mean[i]*residual[j] + residual[i]*mean[j]
			right := mean[i]*target[j] + target[i]*mean[j]
			both := two*cross + left*meanTarget + right*meanResidual + residual[i]*target[j] +
				target[i]*residual[j]
			same := two*square + 2*left*meanResidual + 2*residual[i]*residual[j]
			products[i*d+j] += real(once * two)
			slope[i*d+j] += real(bent * both)
			squares[i*d+j] += real(twice * same)
		}
	}
}

// exponential is exp(z) E1(z), with E1 the exponential integral, right of the imaginary axis: near 0 by its
// power series, elsewhere by its continued fraction.
func exponential(z complex128) complex128 {
	const (
		near  = 3
		euler = 0.57721566490153286060651209008240243
	)
	if cmplx.Abs(z) < near {
		sum, term := -euler-cmplx.Log(z), complex(-1, 0)
		for k := 1.0; k < 40; k++ {
			term *= -z / complex(k, 0)
			sum += term / complex(k, 0)
		}
		return cmplx.Exp(z) * sum
	}
	var f complex128
	for k := 100.0; k >= 1; k-- {
		f = complex(k*k, 0) / (z + complex(2*k+1, 0) - f)
	}
	return 1 / (z + 1 - f)
}
