package pvi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// repair returns the public posterior q = raw + server(raw) as a raw state, and how many
// directions the server's factor had to lift. It leaves raw unchanged, has no state, and is
// post-processing.
//
// In the mean-field family every coordinate whose precision is below the floor gets the
// floor: integer arithmetic, so the result is the same on every machine. In the full family
// eigenvalues below the floor are lifted to it and the matrix is rounded to the grid; that
// is floating-point, reproducible on one platform. A proper raw state is returned
// unchanged, bit for bit. The linear part h = P m never changes.
func (c Config) repair(raw []int64) (q []int64, lifted int, err error) {
	if len(raw) != c.Dim() {
		return nil, 0, fmt.Errorf("repair: length %d, want %d: %w", len(raw), c.Dim(), bayes.ErrShape)
	}
	q = append([]int64(nil), raw...)
	if c.Family == gauss.Full {
		lifted, err = c.liftEigenvalues(q)
		return q, lifted, err
	}
	most := c.precisionUnits(c.PrecisionFloor) // -floor/2
	for i, x := range q[c.Weights():] {
		if x > most {
			q[c.Weights()+i] = most
			lifted++
		}
	}
	return q, lifted, nil
}

func (c Config) liftEigenvalues(q []int64) (lifted int, err error) {
	var eigen mat.EigenSym
	s := c.space()
	v := c.Reals(q)
	if !eigen.Factorize(s.Precision(v), true) {
		return 0, fmt.Errorf("repair: eigenvalues of the precision do not converge: %w", gauss.ErrImproper)
	}
	values := eigen.Values(nil)
	// Rounding to the grid moves an eigenvalue by at most d units; the margin keeps
	// the result at or above the floor.
	margin := math.Ldexp(float64(c.Weights()), -c.rawBits())
	for i, e := range values {
		if e < c.PrecisionFloor {
			values[i] = c.PrecisionFloor + margin
			lifted++
		}
	}
	if lifted == 0 {
		return 0, nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	s.SetPrecision(v, rebuild(&vectors, values))
	return lifted, c.roundRaw(q[c.Weights():], v[c.Weights():])
}

// rebuild returns V diag(values) V'.
func rebuild(vectors *mat.Dense, values []float64) *mat.SymDense {
	n := len(values)
	scaled := mat.NewDense(n, n, nil)
	scaled.Apply(func(_, j int, x float64) float64 { return x * values[j] }, vectors)
	var full mat.Dense
	full.Mul(scaled, vectors.T())
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, 0.5*(full.At(i, j)+full.At(j, i)))
		}
	}
	return sym
}

// roundRaw rounds natural parameters to raw units.
func (c Config) roundRaw(dst []int64, v []float64) error {
	for i, x := range v {
		r := math.RoundToEven(math.Ldexp(x, c.rawBits()))
		if !(math.Abs(r) < 1<<62) {
			return fmt.Errorf("repair, coordinate %d: %w", i, ErrOverflow)
		}
		dst[i] = int64(r)
	}
	return nil
}
